package demo

import "strings"

// spelled is a word as people write it and as addresses on the net do.
type spelled struct{ text, latin string }

// region is a part of the market of the demo company.
type region struct {
	code, name, manager, rep string // its code, and what its territory and its roles are called
	parent                   string // code of the territory above
	weight                   int    // how many of a hundred accounts are in it
	japanese                 bool
	country, phone           string // phone: the number up to its last four digits
	forms                    []string
	cities                   []city
}

type city struct{ name, state, postal string }

// spell reads words, each with its other spelling behind a colon.
func spell(list string) (words []spelled) {
	for word := range strings.SplitSeq(list, ", ") {
		text, latin, _ := strings.Cut(word, ":")
		words = append(words, spelled{text, latin})
	}
	return words
}

// towns reads cities: name, state and postal code.
func towns(list string) (cities []city) {
	for word := range strings.SplitSeq(list, ", ") {
		parts := strings.Split(word, "/")
		cities = append(cities, city{parts[0], parts[1], parts[2]})
	}
	return cities
}

var regions = []region{
	{
		code: "jp-east", name: "東日本", manager: "東日本営業課長", rep: "東日本営業担当", parent: "jp", weight: 30, japanese: true,
		country: "日本", phone: "03-0000-",
		cities: towns("千代田区/東京都/100-0001, 港区/東京都/105-0001, 横浜市/神奈川県/220-0001, さいたま市/埼玉県/330-0061, " +
			"千葉市/千葉県/260-0013, 仙台市/宮城県/980-0011, 札幌市/北海道/060-0001, 新潟市/新潟県/950-0088"),
	},
	{
		code: "jp-west", name: "西日本", manager: "西日本営業課長", rep: "西日本営業担当", parent: "jp", weight: 25, japanese: true,
		country: "日本", phone: "06-0000-",
		cities: towns("大阪市/大阪府/530-0001, 京都市/京都府/600-8216, 神戸市/兵庫県/650-0021, 名古屋市/愛知県/450-0002, " +
			"広島市/広島県/730-0011, 福岡市/福岡県/812-0011, 高松市/香川県/760-0019, 那覇市/沖縄県/900-0015"),
	},
	{
		code: "dach", name: "DACH", manager: "Sales Manager DACH", rep: "Sales Rep DACH", parent: "emea", weight: 12,
		country: "Germany", phone: "030 23125 ",
		forms: []string{"GmbH", "AG", "KG"},
		cities: towns("Berlin/Berlin/10115, Hamburg/Hamburg/20095, München/Bayern/80331, " +
			"Köln/Nordrhein-Westfalen/50667"),
	},
	{
		code: "uk", name: "UK and Ireland", manager: "Sales Manager UK", rep: "Sales Rep UK", parent: "emea", weight: 8,
		country: "United Kingdom", phone: "020 7946 ",
		forms: []string{"Ltd", "plc", "LLP"},
		cities: towns("London/England/EC1A 1BB, Leeds/England/LS1 1UR, Edinburgh/Scotland/EH1 1YZ, " +
			"Cardiff/Wales/CF10 1EP"),
	},
	{
		code: "us-east", name: "US East", manager: "Sales Manager US East", rep: "Sales Rep US East",
		parent: "americas", weight: 13, country: "United States", phone: "212-555-",
		forms:  []string{"Inc.", "LLC", "Corp."},
		cities: towns("New York/NY/10001, Boston/MA/02108, Atlanta/GA/30303, Chicago/IL/60601"),
	},
	{
		code: "us-west", name: "US West", manager: "Sales Manager US West", rep: "Sales Rep US West",
		parent: "americas", weight: 12, country: "United States", phone: "415-555-",
		forms:  []string{"Inc.", "LLC", "Corp."},
		cities: towns("San Francisco/CA/94103, Seattle/WA/98101, Denver/CO/80202, Phoenix/AZ/85003"),
	},
}

// What companies are called: a stem and a trade.
var (
	japaneseStems = spell("青葉:aoba, 朝日:asahi, 旭:asahigaoka, 泉:izumi, 岩手:iwate, 梅田:umeda, 扇:ogi, 桜:sakura, " +
		"嵯峨:saga, 信濃:shinano, 白樺:shirakaba, " +
		"新星:shinsei, 鈴蘭:suzuran, 瀬戸内:setouchi, 大和:yamato, 高千穂:takachiho, 千歳:chitose, 鶴見:tsurumi, 東雲:shinonome, " +
		"利根:tone, 南海:nankai, " +
		"日進:nisshin, 八雲:yakumo, 富士見:fujimi, 北斗:hokuto, 松風:matsukaze, みなと:minato, 武蔵:musashi, 吉野:yoshino, 若葉:wakaba")
	japaneseTrades = spell("製作所:seisakusho, 工業:kogyo, 電機:denki, 物流:butsuryu, 商事:shoji, 建設:kensetsu, 食品:shokuhin, " +
		"システムズ:systems, 精密:seimitsu, 運輸:unyu, " +
		"化学:kagaku, 証券:shoken, 印刷:insatsu, メディカル:medical, エナジー:energy, 総研:soken")
	westernStems = spell("Alder:alder, Amber:amber, Beacon:beacon, Birch:birch, Bridge:bridge, Cedar:cedar, " +
		"Copper:copper, Delta:delta, Elm:elm, " +
		"Falcon:falcon, Granite:granite, Harbour:harbour, Iron:iron, Juniper:juniper, Kestrel:kestrel, Lark:lark, " +
		"Maple:maple, " +
		"Nord:nord, Oak:oak, Pine:pine, Quarry:quarry, River:river, Silver:silver, Stone:stone, Summit:summit, " +
		"Thistle:thistle, " +
		"Union:union, Vale:vale, Willow:willow, York:york")
	westernTrades = spell("Logistics:logistics, Foods:foods, Systems:systems, Tools:tools, Energy:energy, " +
		"Media:media, Health:health, " +
		"Partners:partners, Works:works, Freight:freight, Textiles:textiles, Optics:optics, Instruments:instruments, " +
		"Chemicals:chemicals, Motors:motors, Paper:paper")
)

// What people are called.
var (
	japaneseFamily = spell("佐藤:sato, 鈴木:suzuki, 高橋:takahashi, 田中:tanaka, 伊藤:ito, 渡辺:watanabe, 山本:yamamoto, " +
		"中村:nakamura, 小林:kobayashi, 加藤:kato, " +
		"吉田:yoshida, 山田:yamada, 佐々木:sasaki, 山口:yamaguchi, 松本:matsumoto, 井上:inoue, 木村:kimura, 林:hayashi, 斎藤:saito, " +
		"清水:shimizu, " +
		"山崎:yamazaki, 森:mori, 池田:ikeda, 橋本:hashimoto, 阿部:abe, 石川:ishikawa, 山下:yamashita, 中島:nakajima, 前田:maeda, " +
		"藤田:fujita")
	japaneseGiven = spell("陽菜:hina, 結衣:yui, 葵:aoi, 凛:rin, 美咲:misaki, 花:hana, 桜子:sakurako, 真由:mayu, 恵:megumi, " +
		"智子:tomoko, 由美:yumi, 直美:naomi, 蓮:ren, " +
		"悠真:yuma, 湊:minato, 大翔:hiroto, 樹:itsuki, 健太:kenta, 翔太:shota, 拓也:takuya, 大輔:daisuke, 浩:hiroshi, 誠:makoto, " +
		"隆:takashi, 修:osamu, " +
		"直樹:naoki")
	westernFamily = spell("Adams:adams, Bauer:bauer, Becker:becker, Brown:brown, Clark:clark, Davies:davies, " +
		"Evans:evans, Fischer:fischer, " +
		"Garcia:garcia, Hughes:hughes, Johnson:johnson, Keller:keller, Lee:lee, Lopez:lopez, Meyer:meyer, " +
		"Miller:miller, " +
		"Nguyen:nguyen, O'Brien:obrien, Patel:patel, Roberts:roberts, Schmidt:schmidt, Schröder:schroeder, " +
		"Smith:smith, " +
		"Taylor:taylor, Turner:turner, Vogel:vogel, Walker:walker, Weber:weber, Wilson:wilson, Wright:wright")
	westernGiven = spell("Alice:alice, Amelia:amelia, Anna:anna, Ben:ben, Carlos:carlos, Charlotte:charlotte, " +
		"Daniel:daniel, Elena:elena, Emma:emma, " +
		"Felix:felix, Grace:grace, Hannah:hannah, Henry:henry, Isabel:isabel, Jack:jack, Jürgen:juergen, " +
		"Laura:laura, Liam:liam, " +
		"Lukas:lukas, Maria:maria, Noah:noah, Olivia:olivia, Paul:paul, Sofia:sofia, Thomas:thomas, Zoë:zoe")
)

// What records say of themselves.
var (
	industries = []string{
		"Banking", "Communications", "Construction", "Energy", "Finance", "Healthcare",
		"Manufacturing", "Media", "Retail", "Technology", "Transportation", "Utilities",
	}
	leadSources    = []string{"Web", "Phone Inquiry", "Partner Referral", "Purchased List", "Trade Show", "Other"}
	tiers          = []string{"Bronze", "Bronze", "Bronze", "Silver", "Silver", "Gold", "Platinum"}
	japaneseTitles = []string{"代表取締役", "取締役", "部長", "課長", "係長", "主任", "購買担当"}
	westernTitles  = []string{
		"CEO", "Director", "Head of Purchasing", "Buyer", "IT Manager", "Operations Manager",
		"Engineer",
	}
	japaneseProducts = []string{"在庫管理システム", "受発注ポータル", "会計連携", "保守契約", "分析基盤", "倉庫ロボット"}
	westernProducts  = []string{
		"Inventory Suite", "Order Portal", "Ledger Connect", "Maintenance Contract",
		"Analytics Platform", "Warehouse Robots",
	}
	nextSteps = []string{
		"Call back", "Send a proposal", "Meet on site", "見積書を送る", "次回の打ち合わせ",
		"Ask for references",
	}
	campaignEvents = spell("展示会:Trade Show, ウェビナー:Webinar, メール配信:Email, Partner Day:Partners, " +
		"Conference:Conference, 広告:Advertisement")
)

// The stages in which opportunities begin, those that they go through in their order, and
// where they are in the end.
var (
	firstStages = []string{"Prospecting", "Qualification", "Needs Analysis"}
	openStages  = []string{
		"Prospecting", "Qualification", "Needs Analysis", "Value Proposition", "Id. Decision Makers",
		"Perception Analysis", "Proposal/Price Quote", "Negotiation",
	}
	laterStages = []string{
		"Value Proposition", "Id. Decision Makers", "Proposal/Price Quote", "Negotiation",
		"Closed Won", "Closed Won", "Closed Lost",
	}
)
