import Testing
import TransferModel

@testable import TransferProtocol

/// How a client that asked for receipts handles results and the receipts that follow them.
@Suite struct OwedReceiptsTests {
    private static func id(_ number: Int) -> UploadID { UploadID(high: 1, low: UInt64(number)) }

    private static func machine(begun count: Int, wantsReceipts: Bool = true) throws -> ClientConnection {
        var machine = ClientConnection(features: wantsReceipts ? .receipts : [])
        _ = try machine.receive(.welcome(Welcome()))
        for number in 0..<count { machine.began(id(number)) }
        return machine
    }

    private static func result(_ number: Int, _ code: ResultCode = .committed, receipt: [UInt8]? = nil) -> UploadResult
    {
        UploadResult(id: id(number), code: code, receipt: receipt)
    }

    private static func receipts(_ count: Int) -> SignedBatch {
        SignedBatch(number: 1, time: 0, count: count, signature: [], sender: "")
    }

    @Test func acknowledgementsAreSettledByTheirReceipts() throws {
        var machine = try Self.machine(begun: 3)
        for (number, code) in [(0, ResultCode.committed), (1, .alreadyStored)] {
            let result = Self.result(number, code)
            #expect(try machine.receive(.result(result)) == .acknowledged(result))
        }
        #expect(try machine.receive(.result(Self.result(2, .invalidPath))) == .finished(Self.result(2, .invalidPath)))
        #expect(!machine.isSettled && machine.allowance == Limits.unacknowledgedUploads - 2)
        #expect(try machine.receive(.receipts(Self.receipts(1))) == .receipts(Self.receipts(1)))
        #expect(!machine.isSettled)
        #expect(try machine.receive(.receipts(Self.receipts(1))) == .receipts(Self.receipts(1)))
        #expect(machine.isSettled && machine.allowance == Limits.unacknowledgedUploads)
    }

    @Test func whatHasItsReceiptOwesNone() throws {
        var machine = try Self.machine(begun: 1)
        let result = Self.result(0, receipt: [1])
        #expect(try machine.receive(.result(result)) == .finished(result))
        #expect(machine.isSettled)
        #expect(fault(&machine, 1) == .unexpectedFrame)
    }

    @Test func otherSuccessesOweNone() throws {
        var machine = try Self.machine(begun: 2)
        for (number, code) in [(0, ResultCode.skipped), (1, .staged)] {
            #expect(try machine.receive(.result(Self.result(number, code))) == .finished(Self.result(number, code)))
        }
        #expect(machine.isSettled)
    }

    /// The answer to a lookup carries its receipt, or there is no receipt.
    @Test func answersToLookupsOweNone() throws {
        var machine = try Self.machine(begun: 0)
        machine.lookedUp([Self.id(0)])
        #expect(try machine.receive(.result(Self.result(0))) == .known(Self.result(0)))
        #expect(machine.isSettled)
    }

    @Test func moreThanAreOwedAreRefused() throws {
        var machine = try Self.machine(begun: 2)
        _ = try machine.receive(.result(Self.result(0)))
        #expect(fault(&machine, 2) == .unexpectedFrame)
        machine = try Self.machine(begun: 1)
        #expect(fault(&machine, 1) == .unexpectedFrame)
    }

    @Test func whoWantsNoneTakesNone() throws {
        var machine = try Self.machine(begun: 1, wantsReceipts: false)
        #expect(try machine.receive(.result(Self.result(0))) == .finished(Self.result(0)))
        #expect(machine.isSettled)
        #expect(fault(&machine, 1) == .unexpectedFrame)
    }

    /// Receipts may follow the server's goodbye, as results may.
    @Test func aServerThatLeavesStillOwesThem() throws {
        var machine = try Self.machine(begun: 1)
        _ = try machine.receive(.result(Self.result(0)))
        _ = try machine.receive(.goodbye(Goodbye(.shuttingDown)))
        #expect(!machine.isSettled)
        #expect(try machine.receive(.receipts(Self.receipts(1))) == .receipts(Self.receipts(1)))
        #expect(machine.isSettled)
    }

    /// A server that never sends receipts cannot make the client store more than its window.
    @Test func whatIsOwedTakesRoomInTheWindow() throws {
        var machine = try Self.machine(begun: Limits.unacknowledgedUploads)
        for number in 0..<Limits.unacknowledgedUploads { _ = try machine.receive(.result(Self.result(number))) }
        #expect(machine.allowance == 0)
        _ = try machine.receive(.receipts(Self.receipts(Limits.unacknowledgedUploads)))
        #expect(machine.allowance == Limits.unacknowledgedUploads)
    }

    private func fault(_ machine: inout ClientConnection, _ count: Int) -> ResultCode? {
        faultCode { () throws(ProtocolFault) in _ = try machine.receive(.receipts(Self.receipts(count))) }
    }
}
