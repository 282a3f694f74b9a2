import TransferKeys
import TransferModel
import TransferReceipts

/// Issues receipts for a batch of small uploads, and decodes and verifies them as the client does.
struct ReceiptBenchmark {
    private static let batch = 256

    private let issuer = ReceiptIssuer(ServerIdentity(), numbers: ReceiptNumbers())

    func rates() throws -> [Figure] {
        let uploads = try (0..<Self.batch).map { try upload($0) }
        let batch = issuer.issue(uploads, sender: "127.0.0.1:50000")
        let size = Double(Self.batch) / 1e3
        let issued = Rate.perSecond(size) { keep(issuer.issue(uploads, sender: "127.0.0.1:50000").signedBatch) }
        let batchVerifier = BatchVerifier(issuer.key)
        let made = try Rate.perSecond(size) { keep(try batchVerifier.verify(batch.signedBatch, of: uploads)) }
        let lines = ReceiptLineBuffer(worthwhile: 1 << 20)
        let written = Rate.perSecond(size) {
            for receipt in batch.signed { lines.append(receipt) }
            lines.take { keep($0.count) }
        }
        let encoded = batch.signed.map(\.encoded)
        let other = issuer.issue(uploads, sender: "127.0.0.1:50001").signed.map(\.encoded)
        let (decoder, verifier) = (ReceiptDecoder(), ReceiptVerifier())
        var batches = [encoded, other]
        let verified = try Rate.perSecond(size) {
            // Alternates the batches, because the verifier would already know the receipts of a repeated batch.
            batches.swapAt(0, 1)
            for bytes in batches[0] { try verifier.verify(decoder.decode(bytes)) }
        }
        return [
            Figure(name: "receipts given, \(Self.batch) at a time", value: issued, unit: "thousand/s"),
            Figure(name: "receipts made by the client and verified", value: made, unit: "thousand/s"),
            Figure(name: "lines written of them, made anew", value: written, unit: "thousand/s"),
            Figure(name: "receipts decoded and verified", value: verified, unit: "thousand/s"),
        ]
    }

    private func upload(_ number: Int) throws -> ReceiptIssuer.Acknowledged {
        ReceiptIssuer.Acknowledged(
            uploadID: .random(), path: try RelativePath("photos/2026/photo-\(number).jpg"), kind: .picture, size: 4096,
            digest: Digest(.xxh128, [UInt8](repeating: 1, count: 16)), result: .committed)
    }
}
