import Testing
import TransferModel

@testable import TransferReceipts

/// Receipts that are made again.
@Suite struct RepeatedBatchTests {
    private let issuer = ReceiptIssuer(Sample.identity, numbers: ReceiptNumbers())

    @Test func comeOutAsTheyWere() throws {
        let uploads = (0..<3).map { Sample.upload($0) }
        let batch = issuer.issue(uploads, sender: "x")
        let again = try #require(issuer.issue(again: batch.signedBatch, for: uploads))
        #expect(uploads.indices.map { again.encoded($0) } == uploads.indices.map { batch.encoded($0) })
    }

    /// A receipt that would not verify is worse than none.
    @Test func ofOtherUploadsThereAreNone() {
        let uploads = (0..<3).map { Sample.upload($0) }
        let signedBatch = issuer.issue(uploads, sender: "x").signedBatch
        #expect(issuer.issue(again: signedBatch, for: uploads.reversed()) == nil)
        #expect(issuer.issue(again: signedBatch, for: [Sample.upload(0), Sample.upload(1), Sample.upload(9)]) == nil)
        #expect(issuer.issue(again: signedBatch, for: Array(uploads.prefix(2))) == nil)
    }
}
