import Testing
import TransferKeys
import TransferModel
import TransferProtocol

@testable import TransferReceipts

@Suite struct BatchVerifierTests {
    private static func batch(_ count: Int) -> (uploads: [ReceiptIssuer.Acknowledged], batch: ReceiptBatch) {
        let uploads = (0..<count).map { Sample.upload($0 + 1) }
        let issuer = ReceiptIssuer(Sample.identity, numbers: ReceiptNumbers())
        return (uploads, issuer.issue(uploads, sender: "192.0.2.7:50000"))
    }

    /// Receipts that the client makes from the results are byte for byte those that the server would have written.
    @Test(arguments: [1, 2, 3, 5, 8, 255, 256, 257, 1000]) func makesTheSameReceipts(_ count: Int) throws {
        let (uploads, batch) = Self.batch(count)
        let signed = try BatchVerifier(Sample.key).verify(batch.signedBatch, of: uploads)
        #expect(signed == batch.signed)
        #expect(signed.map(\.jsonBytes) == batch.signed.map(\.jsonBytes))
        #expect(signed.map(\.encoded) == batch.signed.map(\.encoded))
        for receipt in signed { try ReceiptVerifier().verify(receipt) }
    }

    @Test func theLinesAreThoseOfTheFile() throws {
        let (uploads, batch) = Self.batch(20)
        let lines = ReceiptLineBuffer(worthwhile: 1)
        for receipt in try BatchVerifier(Sample.key).verify(batch.signedBatch, of: uploads) {
            lines.append(receipt)
            var written: [UInt8] = []
            lines.take { written = Array($0) }
            #expect(written == receipt.jsonBytes + [UInt8(ascii: "\n")])
            #expect(try SignedReceipt(json: written.dropLast()) == receipt)
            #expect(lines.count == 0)
        }
    }

    /// The longest possible line fits after the size from which writing is worthwhile.
    @Test func thereIsRoomForTheLongestLine() throws {
        // A character that takes six bytes of the line for one of the path.
        let path = Array(repeating: String(repeating: "\u{1}", count: 255), count: 15).joined(separator: "/")
        let issuer = ReceiptIssuer(Sample.identity, numbers: ReceiptNumbers())
        let uploads = Array(repeating: Sample.upload(1, path: path), count: 1000)
        let signed = issuer.issue(uploads, sender: String(repeating: "\u{1}", count: 255)).signed(0)
        let lines = ReceiptLineBuffer(worthwhile: 100)
        while lines.count < 100 { lines.append(signed) }
        #expect(lines.count == signed.jsonBytes.count + 1)
    }

    /// Verification fails if the client's or the server's values differ.
    @Test func nothingElseVerifies() throws {
        let (uploads, batch) = Self.batch(5)
        let verifier = BatchVerifier(Sample.key)
        func fault(_ uploads: [ReceiptIssuer.Acknowledged], _ change: (inout SignedBatch) -> Void = { _ in })
            -> ReceiptFault?
        {
            var signedBatch = batch.signedBatch
            change(&signedBatch)
            do throws(ReceiptFault) {
                _ = try verifier.verify(signedBatch, of: uploads)
                return nil
            } catch {
                return error
            }
        }
        #expect(fault(uploads) == nil)
        #expect(fault(uploads.reversed()) == .notSigned)
        #expect(fault(uploads.dropLast() + [Sample.upload(5, path: "other")]) == .notSigned)
        #expect(fault(uploads.dropLast() + [Sample.upload(6, path: "photos/5.png")]) == .notSigned)
        #expect(fault(uploads) { $0.signature[0] ^= 1 } == .notSigned)
        #expect(fault(uploads) { $0.number += 1 } == .notSigned)
        #expect(fault(uploads) { $0.time += 1 } == .notSigned)
        #expect(fault(uploads) { $0.sender += "0" } == .notSigned)
        #expect(fault(uploads) { $0.version = 2 } == .unknownVersion)
        for (other, change) in [(uploads, { $0.time = .max }), (uploads.dropLast(), { _ in })]
            as [([ReceiptIssuer.Acknowledged], (inout SignedBatch) -> Void)]
        {
            guard case .malformed? = fault(other, change) else {
                Issue.record("not malformed")
                continue
            }
        }
        #expect(throws: ReceiptFault.notSigned) {
            try BatchVerifier(ServerIdentity().key).verify(batch.signedBatch, of: uploads)
        }
    }
}
