import Testing
import TransferClassic
import TransferModel

/// Messages have equal meaning in both framings that carry them.
@Suite struct MessageConversationTests {
    private static let wrongInside: [(UInt16, String, String)] = [
        (18, "{\"id\":1}", "malformedFrame"), (18, "{\"id\":1,\"data\":7}", "malformedFrame"),
        (18, "{\"id\":1,\"data\":\"a\"}", "malformedFrame"),
        (18, "{\"id\":1,\"data\":\"aGVs=\"}", "malformedFrame"),
        (18, "{\"id\":1,\"data\":\"aG Vs\"}", "malformedFrame"),
        (18, "{\"id\":1,\"data\":\"aG\\nVs\"}", "malformedFrame"),
        (18, "{\"id\":1,\"data\":\"aGV_\"}", "malformedFrame"),
        (18, "{\"id\":1,\"data\":\"aGVé\"}", "malformedFrame"),
        (18, "{\"id\":1,\"data\":\"bG9=\"}", "malformedFrame"),
        (18, "{\"id\":1,\"data\":\"====\"}", "malformedFrame"),
        (20, "{\"id\":1}", "malformedFrame"), (20, "{\"id\":1,\"size\":5,\"sha256\":\"00\"}", "malformedFrame"),
        (20, "{\"id\":1,\"size\":5,\"sha256\":5}", "malformedFrame"),
        (20, "{\"id\":1,\"size\":\"5\"}", "malformedFrame"),
        (20, "{\"id\":1,\"size\":5,\"sha256\":\"\(String(repeating: "g", count: 64))\"}", "malformedFrame"),
        (20, "{\"id\":1,\"size\":5,\"sha256\":\"\(String(repeating: "é", count: 32))\"}", "malformedFrame"),
        (18, "{\"id\":2,\"data\":\"aGVs\"}", "unexpectedFrame"), (20, "{\"id\":2,\"size\":0}", "unexpectedFrame"),
        (21, "{\"id\":2}", "unexpectedFrame"), (16, "{\"id\":1}", "unexpectedFrame"),
        (16, "{\"id\":2}", "unexpectedFrame"),
        (64, "{\"id\":2,\"text\":\"x\"}", "unexpectedFrame"), (23, "{\"id\":1,\"code\":1}", "unexpectedFrame"),
    ]

    static func heard(_ messages: [(UInt16, String)]) -> [Heard] {
        let carried = Listener.heard(messages.flatMap { Wire.header7($0.0, $0.1) }, .header7)
        let other = Listener.heard(messages.flatMap { Wire.tagged37(Int($0.0), $0.1) }, .tagged37)
        #expect(carried.filter { !$0.isReply } == other.filter { !$0.isReply })
        return carried
    }

    @Test func anUpload() {
        let digest = [UInt8](hexadecimal: Sample.sha256) ?? []
        #expect(
            Self.heard(Sample.messages) == [
                .reply(Wire.header7(4, "{}")), .reply(Wire.header7(4, "{\"id\":7}")),
                .begin(ClassicUpload(number: 1, name: Array("a😀.png".utf8), kind: .picture, size: 5)),
                .content([UInt8]("hel")), .reply(Wire.header7(4, "{}")), .content([UInt8]("lo")),
                .end(ClassicEnd(size: 5, digest: Digest(.sha256, digest))),
                .begin(ClassicUpload(number: 1 << 53)), .abort,
                .begin(ClassicUpload(number: 2, kind: .text, size: 20)), .content(Array("Grüße, 你好 😀".utf8)),
                .end(ClassicEnd(size: 20)), .begin(ClassicUpload(number: 3, kind: .text, size: 0)),
                .end(ClassicEnd(size: 0)), .close,
            ])
    }

    @Test(
        arguments: [
            (16, "{}"), (16, "{\"id\":0}"), (16, "{\"id\":9007199254740993}"), (16, "{\"id\":-1}"),
            (16, "{\"id\":1.0}"),
            (16, "{\"id\":1e0}"), (16, "{\"id\":\"1\"}"), (16, "{\"id\":null}"),
            (16, "{\"id\":99999999999999999999999}"),
            (16, "{\"id\":1,\"id\":2}"), (16, "{\"id\":1,\"name\":1}"), (16, "{\"id\":1,\"name\":\"a\\u0000\"}"),
            (16, "{\"id\":1,\"kind\":\"film\"}"), (16, "{\"id\":1,\"kind\":1}"), (16, "{\"id\":1,\"size\":-5}"),
            (16, "{\"id\":1,\"size\":9223372036854775808}"), (16, "{\"id\":1,\"size\":\"5\"}"), (64, "{\"id\":1}"),
            (64, "{\"id\":1,\"text\":null}"), (64, "{\"id\":1,\"text\":\"\\ud800\"}"), (3, "{\"id\":\"x\"}"),
        ] as [(UInt16, String)])
    func membersThatAreWrong(_ function: UInt16, _ json: String) {
        #expect(faultCode(Self.heard([(function, json)])) == "malformedFrame")
    }

    @Test(arguments: wrongInside) func insideAnUpload(_ function: UInt16, _ json: String, _ code: String) {
        let heard = Self.heard([(16, "{\"id\":1}"), (function, json)])
        #expect(faultCode(heard) == code && heard.count == 2)
    }

    @Test(arguments: [18, 20, 21] as [UInt16]) func outsideAnUpload(_ function: UInt16) {
        let heard = Self.heard([(function, "{\"id\":4,\"data\":\"aGVs\",\"size\":0}")])
        #expect(heard == [.fault(ClassicFault(.unexpectedFrame, "Upload 4 has not begun.", reference: 4))])
    }

    @Test func theLargestChunk() {
        func chunk(_ count: Int) -> [Heard] {
            let content = [UInt8](repeating: 0x41, count: count)
            let digits = MessageRequest.chunk(id: 1, content: content).object.text
            return Listener.heard(Wire.tagged37(16, "{\"id\":1}") + Wire.tagged37(18, digits), .tagged37)
        }
        #expect(chunk(48 << 10).last == .content([UInt8](repeating: 0x41, count: 48 << 10)))
        #expect(faultCode(chunk(48 << 10 + 1)) == "frameTooLarge")
    }

    /// A name has no effect here: an invalid name is only a failure of the upload that has it. A name that is too long
    /// is kept only up to a length that is still too long.
    @Test(arguments: ["../../etc/passwd", "a/b", "", "a\u{1B}[2J", String(repeating: "n", count: 300)])
    func namesAreGivenOnAsTheyCame(_ name: String) {
        let json = MessageRequest.begin(id: 1, name: name, kind: nil, size: nil).object.text
        #expect(Self.heard([(16, json)]) == [.begin(ClassicUpload(number: 1, name: Array(name.utf8.prefix(256))))])
    }

    @Test func answers() {
        let upload = ClassicUpload(number: 5)
        let result = ClassicResult(.committed, path: "a/é😀.png", message: "\u{1B}", name: "é")
        let members = #"{"id":5,"code":1,"result":"committed","name":"é","path":"a/é😀.png","message":"\u001b"}"#
        #expect(Header7Conversation().answer(to: upload, result) == Wire.header7(23, members))
        let ascii =
            #"{"id":5,"code":1,"result":"committed","name":"\u00e9","path":"a/\u00e9\ud83d\ude00.png","message":"\u001b"}"#
        #expect(Tagged37Conversation().answer(to: upload, result) == Wire.tagged37(23, ascii, counting: .bytes))
        let fault = ClassicFault(.unexpectedFrame, "No.", reference: 5)
        #expect(
            Header7Conversation().answer(to: fault)
                == Wire.header7(23, #"{"id":5,"code":104,"result":"unexpectedFrame","message":"No."}"#))
    }

    /// However long the texts are, the answer is complete, and its texts are cut at whole characters.
    @Test(arguments: ["\u{1}", "é", "你", "😀", "\u{80}"]) func longAnswersAreClipped(_ character: String) throws {
        let long = String(repeating: character, count: 100_000)
        let result = ClassicResult(.storageFailed, path: long, message: long, name: long)
        for bytes in [
            Header7Conversation().answer(to: ClassicUpload(number: 1), result),
            Tagged37Conversation().answer(to: ClassicUpload(number: 1), result),
        ] {
            #expect((1_000...65_542).contains(bytes.count))
        }
        var answers = MessageAnswers<Header7Framing>()
        let bytes = Header7Conversation().answer(to: ClassicUpload(number: 1), result)
        guard case .result(1, let read) = try answers.next(bytes.span.bytes).answer else {
            Issue.record("no result")
            return
        }
        #expect(read.code == .storageFailed)
        #expect(read.name.map { long.hasPrefix($0) && (250...255).contains($0.utf8.count) } == true)
    }
}

extension Heard {
    var isReply: Bool { if case .reply = self { true } else { false } }
}
