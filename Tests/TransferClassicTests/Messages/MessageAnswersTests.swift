import Testing
import TransferClassic
import TransferModel

@Suite struct MessageAnswersTests {
    private static let result = ClassicResult(.committed, path: "写真/é.png", message: "Stored.", name: "é.png")

    private static func read<Framing: MessageFraming>(
        _ bytes: [UInt8], _ framing: Framing.Type
    ) throws(ClassicFault) -> [ClassicAnswer] {
        var answers = MessageAnswers<Framing>()
        var (start, found): (Int, [ClassicAnswer]) = (0, [])
        while true {
            let (answer, consumed) = try answers.next(bytes.span.bytes.extracting(start...))
            guard answer != .needsMore else { return found }
            start += consumed
            if answer != .nothing { found.append(answer) }
        }
    }

    @Test func whatAServerSays() throws {
        let upload = ClassicUpload(number: 9)
        let expected = [ClassicAnswer.result(id: 9, Self.result), .close]
        let header7 =
            Header7Conversation().answer(to: upload, Self.result) + Wire.header7(4, []) + Wire.header7(5, "{}")
        #expect(try Self.read(header7, Header7Framing.self) == expected)
        let tagged37 = Tagged37Conversation().answer(to: upload, Self.result) + Wire.tagged37(5, "{}")
        #expect(try Self.read(tagged37, Tagged37Framing.self) == expected)
    }

    @Test func pings() throws {
        #expect(
            try Self.read(Wire.header7(3, "{\"id\":3}"), Header7Framing.self) == [.reply(Wire.header7(4, "{\"id\":3}"))]
        )
    }

    @Test func aResultOfTheWholeConversation() throws {
        let bytes = Header7Conversation().answer(to: ClassicFault(.malformedFrame, "No."))
        let result = ClassicResult(.malformedFrame, message: "No.")
        #expect(try Self.read(bytes, Header7Framing.self) == [.result(id: 0, result)])
    }

    @Test(
        arguments: [
            (23, "{}"), (23, "{\"id\":1}"), (23, "{\"code\":1}"), (23, "{\"id\":1,\"code\":65536}"),
            (23, "{\"id\":1,\"code\":1,\"path\":1}"), (16, "{\"id\":1}"), (64, "{\"id\":1,\"text\":\"x\"}"), (23, ""),
            (99, "{}"),
        ] as [(UInt16, String)])
    func whatAServerDoesNotSay(_ function: UInt16, _ json: String) {
        #expect(throws: ClassicFault.self) { try Self.read(Wire.header7(function, json), Header7Framing.self) }
    }

    @Test(arguments: [
        MessageRequest.ping, .goodbye, .text(id: 1, "Grüße\n"), .begin(id: 1, name: "é", kind: .audio, size: 3),
        .begin(id: 1, name: nil, kind: nil, size: nil),
    ])
    func requests(_ request: MessageRequest) throws {
        let header7 = try #require(request.bytes(in: Header7Framing.self))
        let tagged37 = try #require(request.bytes(in: Tagged37Framing.self))
        #expect(tagged37.allSatisfy { $0 < 0x80 })
        let heard = Listener.heard(header7, .header7)
        #expect(heard.count == Listener.heard(tagged37, .tagged37).count && !heard.isEmpty)
        #expect(faultCode(heard) == nil)
    }

    @Test func aWholeUpload() throws {
        let requests: [MessageRequest] = [
            .begin(id: 1, name: "a.bin", kind: .file, size: 3), .chunk(id: 1, content: [0, 255, 7]),
            .end(id: 1, size: 3, sha256: [UInt8](hexadecimal: Sample.sha256)),
            .begin(id: 2, name: nil, kind: nil, size: 1),
            .abort(id: 2, reason: "changed"),
        ]
        let digest = Digest(.sha256, try #require([UInt8](hexadecimal: Sample.sha256)))
        #expect(
            Listener.heard(requests.flatMap { $0.bytes(in: Header7Framing.self) ?? [] }, .header7) == [
                .begin(ClassicUpload(number: 1, name: [UInt8]("a.bin"), kind: .file, size: 3)), .content([0, 255, 7]),
                .end(ClassicEnd(size: 3, digest: digest)), .begin(ClassicUpload(number: 2, size: 1)), .abort,
            ])
    }

    @Test func theLargestChunkFitsWithoutCompression() {
        let content = [UInt8](repeating: 0xFF, count: MessageRequest.chunkSize)
        let request = MessageRequest.chunk(id: 1 << 53, content: content)
        #expect(request.bytes(in: Header7Framing.self) != nil)
        let larger = MessageRequest.chunk(id: 1, content: [UInt8](repeating: 0xFF, count: 48 << 10))
        #expect(larger.bytes(in: Header7Framing.self) == nil)
        #expect(larger.bytes(in: Tagged37Framing.self) != nil)
    }
}
