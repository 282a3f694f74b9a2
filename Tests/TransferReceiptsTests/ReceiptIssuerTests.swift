import Testing
import TransferKeys
import TransferModel
import TransferSystem

@testable import TransferReceipts

@Suite struct ReceiptIssuerTests {
    @Test(arguments: [1, 2, 3, 5, 8, 255, 256, 257]) func everyReceiptOfABatchVerifies(_ count: Int) throws {
        let receipts = Sample.receipts(count)
        #expect(receipts.count == count)
        #expect(Set(receipts.map(\.signature)).count == 1)
        for receipt in receipts { try ReceiptVerifier().verify(receipt) }
        let inOrder = ReceiptVerifier()
        for receipt in receipts { try inOrder.verify(receipt) }
        for receipt in receipts.reversed() { try inOrder.verify(receipt) }
    }

    @Test func numbersGrow() {
        let numbers = ReceiptNumbers(first: 1 << 60)
        let issuer = ReceiptIssuer(Sample.identity, numbers: numbers)
        let receipts = (0..<3).flatMap { _ in issuer.issue([Sample.upload(1), Sample.upload(2)], sender: "x").signed }
        #expect(receipts.map(\.receipt.number) == (0..<6).map { 1 << 60 + $0 })
    }

    @Test func aLaterStartGivesLargerNumbers() {
        let first = ReceiptNumbers()
        let given = first.take(100)
        // The clock advances by at least a microsecond for each number.
        while UInt64(utcNanoseconds() / 1_000) <= given + 100 {}
        #expect(ReceiptNumbers().take(1) > given + 99)
        #expect(given < 1 << 53)
    }

    /// Whatever the clock shows and whenever the server dies, the stored number is above all numbers that were given.
    @Test func whatIsKeptIsAboveWhatIsGiven() {
        let kept = Locked([UInt64]())
        let numbers = ReceiptNumbers(first: 1 << 60) { number in kept.withLock { $0.append(number) } }
        #expect(kept.withLock { $0.count } == 1)
        for count in [1, 1000, Limits.receiptBatch, 1 << 20, 1] {
            let first = numbers.take(count)
            #expect(kept.withLock { $0.last }.map { $0 > first + UInt64(count) } == true)
        }
        #expect(kept.withLock { $0 } == kept.withLock { $0 }.sorted())
        #expect(kept.withLock { $0.count } <= 3)
    }

    @Test func saysWhatWasAcknowledged() throws {
        let issuer = ReceiptIssuer(Sample.identity, numbers: ReceiptNumbers())
        let upload = Sample.upload(3)
        let receipt = issuer.issue([upload], sender: "192.0.2.1:9").signed(0).receipt
        #expect(receipt.uploadID == upload.uploadID && receipt.path == upload.path && receipt.kind == upload.kind)
        #expect(receipt.size == upload.size && receipt.digest == upload.digest && receipt.result == .alreadyStored)
        #expect(receipt.sender == "192.0.2.1:9" && receipt.server == Sample.key)
    }

    @Test func longSendersAreCut() throws {
        let issuer = ReceiptIssuer(Sample.identity, numbers: ReceiptNumbers())
        let signed = issuer.issue([Sample.upload(1)], sender: String(repeating: "s", count: 300)).signed(0)
        #expect(signed.receipt.sender.utf8.count == Limits.sender)
        #expect(try SignedReceipt(json: signed.jsonBytes) == signed)
    }
}
