import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct ReceiptsTests {
    private static let receipts = SignedBatch(
        number: 7, time: 8, count: 2, signature: Array(0..<64), sender: "192.0.2.7:50000")

    @Test(arguments: [1, 2, Limits.unacknowledgedUploads]) func asManyAsMayBe(_ count: Int) throws {
        var receipts = Self.receipts
        receipts.count = count
        let message = Message.receipts(receipts)
        #expect(try Message.decode(.receipts, body: message.checkedBody) == message)
    }

    @Test(arguments: [0, Limits.unacknowledgedUploads + 1, 65_535]) func noneOrTooMany(_ count: Int) {
        var receipts = Self.receipts
        receipts.count = count
        #expect(fault(Message.receipts(receipts).body) == .malformedFrame)
    }

    @Test func numbersThatCannotBe() {
        var receipts = Self.receipts
        receipts.number = .max
        #expect(fault(Message.receipts(receipts).body) == .malformedFrame)
        receipts.number = .max - 1
        #expect(fault(Message.receipts(receipts).body) == nil)
    }

    @Test func sendersThatCannotBe() {
        var receipts = Self.receipts
        receipts.sender = String(repeating: "s", count: Limits.sender)
        #expect(fault(Message.receipts(receipts).body) == nil)
        receipts.sender += "s"
        #expect(fault(Message.receipts(receipts).body) == .malformedFrame)
        var body = Message.receipts(Self.receipts).body
        body[body.count - 1] = 0xFF
        #expect(fault(body) == .malformedFrame)
    }

    @Test func isWholeOrNothing() {
        let body = Message.receipts(Self.receipts).body
        for count in body.indices { #expect(fault(Array(body.prefix(count))) == .malformedFrame, "\(count) bytes") }
        #expect(fault(body) == nil)
    }

    /// A reader of receipts has to refuse another version: the uploads are stored in any case.
    @Test func anotherVersionIsNoFault() throws {
        var receipts = Self.receipts
        receipts.version = 2
        let message = Message.receipts(receipts)
        #expect(try Message.decode(.receipts, body: message.checkedBody) == message)
    }

    @Test func everyBitIsGuarded() {
        let body = Message.receipts(Self.receipts).checkedBody
        for index in body.indices.dropLast(7) {
            var damaged = body
            damaged[index] ^= 4
            let code = fault(damaged)
            #expect(code == .damagedFrame || code == .malformedFrame, "byte \(index)")
        }
    }

    private func fault(_ body: [UInt8]) -> ResultCode? {
        faultCode { () throws(ProtocolFault) in _ = try Message.decode(.receipts, unchecked: body) }
    }
}
