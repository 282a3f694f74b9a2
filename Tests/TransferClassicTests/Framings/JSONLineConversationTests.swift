import Testing
import TransferClassic
import TransferModel

@Suite struct JSONLineConversationTests {
    private static let wrong: [(String, String)] = [
        ("{\"type\":\"txt\",\"size\":\"0\"}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":\"-1\"}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":-1}", "malformedFrame"), ("{\"type\":\"txt\",\"size\":0}", "malformedFrame"),
        ("{\"type\":\"txt\"}", "malformedFrame"), ("{\"type\":\"txt\",\"size\":1.0}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":\"1e3\"}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":\"+1\"}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":\" 1\"}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":\"\"}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":\"9223372036854775808\"}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":\"99999999999999999999999999\"}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":true}", "malformedFrame"), ("{\"type\":\"txt\",\"size\":[1]}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":1,\"size\":2}", "malformedFrame"), ("{\"size\":1}", "malformedFrame"),
        ("{\"type\":1,\"size\":1}", "malformedFrame"), ("{\"type\":\"mov\",\"size\":1}", "unsupportedFunction"),
        ("{\"type\":\"TXT\",\"size\":1}", "unsupportedFunction"),
        ("{\"type\":\"hear\",\"size\":1}", "unsupportedFunction"),
        ("{\"type\":\"heart\",\"size\":\"-1\"}", "malformedFrame"),
        ("{\"type\":\"heart\",\"size\":65537}", "frameTooLarge"),
        ("{\"type\":\"txt\",\"size\":1,\"targetID\":7}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":1,\"CinentID\":\"a\\u0000b\"}", "malformedFrame"),
        ("{\"type\":\"txt\",\"size\":1", "malformedFrame"), ("{}{}", "malformedFrame"), ("", "malformedFrame"),
        ("[]", "malformedFrame"), ("GET / HTTP/1.1", "malformedFrame"),
    ]

    private static func begin(
        _ kind: ContentKind, _ size: UInt64, from sender: String? = nil, to recipient: String? = nil
    ) -> Heard {
        .begin(ClassicUpload(number: 1, kind: kind, size: size, recipient: recipient, sender: sender))
    }

    @Test func textsAndPictures() {
        let text = Wire.jsonline(Wire.head("txt", "alice", "bob", "2"), [UInt8]("hi"))
        #expect(
            Listener.heard(text, .jsonline) == [
                Self.begin(.text, 2, from: "alice", to: "bob"), .content([UInt8]("hi")), .end(ClassicEnd(size: 2)),
            ])
        let picture = Wire.jsonline("{\"type\":\"img\",\"ClientID\":\"小明\",\"size\":3}", [1, 2, 3])
        #expect(
            Listener.heard(picture, .jsonline) == [
                Self.begin(.picture, 3, from: "小明"), .content([1, 2, 3]), .end(ClassicEnd(size: 3)),
            ])
    }

    @Test(arguments: ["heart", "heartA", "heartB", "heartbeat 你好"]) func heartbeats(_ type: String) {
        let heads = [
            Wire.jsonline(Wire.head(type, "alice", "", "0")),
            Wire.jsonline(Wire.head(type, "alice", "", "2"), [0x7B, 0x7D]),
            Wire.jsonline("{\"type\":\"\(type)\",\"ClientID\":\"alice\"}"),
            Wire.jsonline("{\"type\":\"\(type)\",\"ClientID\":\"alice\",\"size\":null}"),
        ]
        #expect(Listener.heard(heads.flatMap { $0 }, .jsonline) == heads.map { _ in .present("alice") })
        #expect(Listener.heard(Wire.jsonline("{\"type\":\"\(type)\"}"), .jsonline).isEmpty)
    }

    /// A known head is not parsed again; a head that differs in one byte is.
    @Test func heartbeatsThatComeAgain() {
        let heads = [
            Wire.head("heartA", "alice", "", "0"), Wire.head("heartB", "alice", "", "0"),
            Wire.head("heartC", "alice", "", "0"), Wire.head("heartA", "alicf", "", "0"),
        ]
        let names = ["alice", "alice", "alice", "alicf"]
        for count in 1...heads.count {
            let turn = heads.prefix(count).flatMap { Wire.jsonline($0) }
            let stream =
                Array(repeating: turn, count: 3).flatMap { $0 } + Wire.jsonline(Wire.head("txt", "a", "b", "1"), [7])
            let heard = Listener.heard(stream, .jsonline)
            let expected = Array(repeating: names.prefix(count), count: 3).flatMap { $0 }
            #expect(heard.prefix(3 * count).elementsEqual(expected.map { .present($0) }))
            #expect(heard.suffix(2) == [.content([7]), .end(ClassicEnd(size: 1))])
        }
    }

    /// A heartbeat with a body has the body each time, and a heartbeat that is too long to be remembered is parsed each
    /// time.
    @Test func heartbeatsThatAreReadAgain() {
        let long = Wire.jsonline(Wire.head("heart" + String(repeating: "x", count: 1000), "alice", "", "0"))
        let withBody = Wire.jsonline(Wire.head("heart", "alice", "", "2"), [0x7B, 0x7D])
        let heard = Listener.heard(long + long + withBody + withBody + long, .jsonline)
        #expect(heard == Array(repeating: .present("alice"), count: 5))
    }

    @Test(arguments: ContentKind.allCases) func whatCanBeHandedOn(_ kind: ContentKind) {
        let isCarried = [.text, .picture, .location].contains(kind)
        for size in [1, 20_000_000, 2_147_483_647] as [UInt64] {
            #expect(JSONLineMessage.carries(kind, size: size) == isCarried)
        }
        for size in [0, 2_147_483_648, .max] as [UInt64] { #expect(!JSONLineMessage.carries(kind, size: size)) }
    }

    @Test func theNameThatIsSpeltWronglyComesFirst() {
        let head = "{\"type\":\"heart\",\"ClientID\":\"b\",\"CinentID\":\"a\"}"
        #expect(Listener.heard(Wire.jsonline(head), .jsonline) == [.present("a")])
    }

    @Test(arguments: wrong) func heads(_ head: String, _ code: String) {
        let bytes = Wire.jsonline(head)
        let heard = Listener.heard(bytes, .jsonline)
        #expect(faultCode(heard) == code && heard.count == 1)
        for cut in bytes.indices { #expect(Listener.heard(bytes, .jsonline, cutAt: [cut]) == heard) }
    }

    @Test func deepHeads() {
        func head(_ depth: Int) -> [UInt8] {
            let lists = String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1)
            return Wire.jsonline("{\"type\":\"heart\",\"x\":\(lists)}")
        }
        #expect(Listener.heard(head(16), .jsonline).isEmpty)
        #expect(faultCode(Listener.heard(head(17), .jsonline)) == "malformedFrame")
        #expect(faultCode(Listener.heard(head(30_000), .jsonline)) == "malformedFrame")
    }

    @Test func namesThatAreNotUTF8OrTooLong() {
        let broken = Wire.jsonline("{\"type\":\"heart\",\"CinentID\":\"") + [0xFF] + Wire.jsonline("\"}")
        #expect(
            faultCode(Listener.heard(broken.filter { $0 != 10 && $0 != 13 } + [13, 10], .jsonline)) == "malformedFrame")
        let longest = String(repeating: "a", count: 255)
        #expect(Listener.heard(Wire.jsonline(Wire.head("heart", longest, "", "0")), .jsonline) == [.present(longest)])
        let heard = Listener.heard(Wire.jsonline(Wire.head("heart", longest + "a", "", "0")), .jsonline)
        #expect(faultCode(heard) == "malformedFrame")
    }

    /// The longest head is accepted, however it arrives; one byte more is refused, even before the head ends.
    @Test func headsThatDoNotEnd() throws {
        let frame = "{\"type\":\"heart\",\"x\":\"\"}"
        let longest = "{\"type\":\"heart\",\"x\":\"" + String(repeating: "y", count: 65_536 - frame.utf8.count) + "\"}"
        #expect(Listener.heard(Wire.jsonline(longest), .jsonline).isEmpty)
        #expect(faultCode(Listener.heard(Wire.jsonline(longest + " "), .jsonline)) == "frameTooLarge")
        let bytes = Array(longest.utf8) + [0x20, 0x20]
        var conversation = JSONLineConversation()
        for count in 0..<bytes.count {
            let progress = try conversation.next(bytes.span.bytes.extracting(first: count))
            guard progress.step == .needsMore else {
                Issue.record("\(progress) at \(count)")
                return
            }
        }
        #expect(throws: ClassicFault.self) { try conversation.next(bytes.span.bytes) }
    }

    @Test func refusalsAreTexts() throws {
        let conversation = JSONLineConversation()
        let upload = ClassicUpload(number: 1, kind: .text, size: 1)
        #expect(conversation.answer(to: upload, ClassicResult(.committed)).isEmpty)
        #expect(conversation.answer(to: upload, ClassicResult(.busy, message: "")).isEmpty)
        #expect(
            conversation.answer(to: upload, ClassicResult(.insufficientStorage, message: "Füll.\r\n"))
                == Array("{\"type\":\"txt\",\"sourceClient\":\"transfer\",\"size\":\"8\"}\r\nFüll.\r\n".utf8))
        #expect(
            conversation.answer(to: ClassicFault(.malformedFrame, "No."))
                == Array("{\"type\":\"txt\",\"sourceClient\":\"transfer\",\"size\":\"3\"}\r\nNo.".utf8))
    }

    @Test func headsOfOurOwn() throws {
        #expect(
            JSONLineMessage.forwarded(.picture, from: "a\r\n\"b", size: 3)
                == [UInt8](#"{"type":"img","sourceClient":"a\r\n\"b","size":"3"}"#) + [13, 10])
        let head = try #require(JSONLineMessage.upload(.text, from: "alice", to: "bob", size: 2))
        #expect(
            Listener.heard(head + [UInt8]("hi"), .jsonline) == [
                Self.begin(.text, 2, from: "alice", to: "bob"), .content([UInt8]("hi")), .end(ClassicEnd(size: 2)),
            ])
        #expect(JSONLineMessage.upload(.text, from: "alice", to: "bob", size: 0) == nil)
        #expect(Listener.heard(JSONLineMessage.heartbeat(from: "alice"), .jsonline) == [.present("alice")])
    }
}
