import Testing
import TransferModel
import TransferTestSupport

@testable import TransferProtocol

@Suite struct MessageTests {
    @Test(arguments: Sample.messages) func roundTrip(_ message: Message) throws {
        let header = try #require(try FrameHeader.decode(message.frame.span.bytes))
        #expect(header == FrameHeader(message.function, bodyLength: message.checkedBody.count))
        #expect(try Message.decode(message.function, body: message.checkedBody) == message)
        #expect(try Message.decode(message.function, unchecked: message.body) == message)
    }

    @Test func samplesCoverEveryFunction() {
        #expect(Set(Sample.messages.map(\.function)) == Set(FunctionCode.allCases).subtracting([.data]))
    }

    @Test(arguments: Sample.messages) func encodingAppends(_ message: Message) {
        var bytes: [UInt8] = [1, 2, 3]
        message.encode(into: &bytes)
        #expect(bytes == [1, 2, 3] + message.frame)
    }

    /// A body may end only after its last required field or after an optional field.
    @Test(arguments: Sample.messages) func truncatedAnywhereIsMalformed(_ message: Message) {
        let body = message.body
        let ends = mayEndAt(message)
        for count in 0..<body.count where !ends.contains(count) {
            #expect(fault(message.function, Array(body.prefix(count))) == .malformedFrame, "\(count) bytes")
        }
    }

    @Test(arguments: Sample.messages) func oneByteTooManyIsMalformed(_ message: Message) {
        for byte in [0, 3, 0x7F, 0xFF] as [UInt8] {
            #expect(fault(message.function, message.body + [byte]) == .malformedFrame)
        }
    }

    @Test(arguments: Sample.messages.filter { !endsInFields($0) })
    func messagesWithoutOptionalFieldsTakeNone(_ message: Message) {
        #expect(fault(message.function, message.body + [0x7F, 0, 1, 0]) == .malformedFrame)
    }

    @Test(arguments: Sample.messages.filter(endsInFields))
    func unknownOptionalFieldsAreSkipped(_ message: Message) throws {
        let fields: [UInt8] = [0x7F, 0, 2, 1, 2, 0, 0, 0, 0x7F, 0, 0]
        #expect(try Message.decode(message.function, unchecked: message.body + fields) == message)
        let first = try #require(mayEndAt(message).min())
        let inserted = message.body.prefix(first) + fields + message.body.dropFirst(first)
        #expect(try Message.decode(message.function, unchecked: Array(inserted)) == message)
    }

    @Test(arguments: Sample.messages.filter(endsInFields), [0x82, 0xC0, 0xFF] as [UInt8])
    func unknownCriticalFieldsAreRefused(_ message: Message, tag: UInt8) {
        #expect(fault(message.function, message.body + [tag, 0, 0]) == .malformedFrame)
    }

    @Test func hostileBodiesNeverTrap() {
        var generator = SplitMix64(seed: 2)
        for function in FunctionCode.allCases where function != .data {
            for _ in 0..<3_000 {
                check(function, generator.bytes(Int.random(in: 0...120, using: &generator)))
            }
        }
    }

    @Test func damagedBodiesNeverTrap() {
        var generator = SplitMix64(seed: 3)
        for message in Sample.messages where message != .abort {
            for _ in 0..<1_000 {
                var body = message.body
                for _ in 0..<Int.random(in: 1...3, using: &generator) {
                    body[Int.random(in: body.indices, using: &generator)] = generator.bytes(1)[0]
                }
                check(message.function, body)
            }
        }
    }

    /// A decoded message can be encoded again, with equal meaning.
    private func check(_ function: FunctionCode, _ body: [UInt8]) {
        do throws(ProtocolFault) {
            let message = try Message.decode(function, unchecked: body)
            let again = try Message.decode(function, unchecked: message.body)
            #expect(again == message)
        } catch {
            // A field of four bytes at the end can become a check of the rest.
            #expect([.malformedFrame, .unsupportedDigest, .damagedFrame].contains(error.code))
        }
    }

    private func fault(_ function: FunctionCode, _ body: [UInt8]) -> ResultCode? {
        faultCode { () throws(ProtocolFault) in _ = try Message.decode(function, body: body) }
    }

    private static func endsInFields(_ message: Message) -> Bool {
        switch message {
        case .hello, .welcome, .goodbye, .begin, .resume, .accept, .result, .lookup, .unknown, .receipts, .list,
            .entries, .fetch, .file, .remove, .outcome, .cancel, .compare, .make, .move, .people, .persons, .mail,
            .deliveries, .settle, .arrived, .introduce:
            true
        case .ping, .pong, .block, .end, .abort, .received, .have: false
        }
    }

    /// Number of bytes in the body before its optional fields.
    private func requiredSize(_ message: Message) -> Int {
        switch message {
        case .hello: 4
        case .welcome: 28
        case .goodbye: 2
        case .begin(let begin):
            message.body.count - (begin.recipients.map { 3 + $0.encoded.count } ?? 0)
                - (begin.attributes.map { 3 + $0.encoded.count } ?? 0)
        case .fetch(let fetch): message.body.count - (fetch.delivery == nil ? 0 : 3 + 16)
        case .settle(let settle): 15 + 16 * settle.deliveries.count
        case .make(let make):
            message.body.count - (make.attributes.map { 3 + $0.encoded.count } ?? 0)
                - (make.target.isEmpty ? 0 : 3 + make.target.count) - Self.size(make.version)
        case .remove(let remove): message.body.count - Self.size(remove.trash) - Self.size(remove.version)
        case .list(let list): message.body.count - Self.size(list.trash)
        case .move(let move): message.body.count - Self.size(move.trash) - Self.size(move.version)
        // The last field decides the meaning of the message.
        case .resume, .accept, .lookup, .unknown, .receipts, .entries, .file, .cancel, .compare,
            .people, .persons, .mail, .deliveries, .arrived, .introduce:
            message.body.count
        case .outcome: 15
        case .result(let result): 27 + (result.digest.map { 1 + $0.bytes.count } ?? 0)
        case .ping, .pong, .block, .end, .abort, .received, .have: message.body.count
        }
    }

    private static func size(_ trash: TrashPlace?) -> Int {
        switch trash {
        case nil: 0
        case .top: 3
        case .batch(let batch): 3 + batch.name.utf8.count
        }
    }

    private static func size(_ version: FileVersion?) -> Int { version == nil ? 0 : 3 + 16 }

    private func mayEndAt(_ message: Message) -> Set<Int> {
        let body = message.body
        var offset = requiredSize(message)
        var ends: Set = [offset]
        while offset < body.count {
            offset += 3 + Int(body[offset + 1]) << 8 + Int(body[offset + 2])
            ends.insert(offset)
        }
        return ends
    }
}
