import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts

extension RawClient {
    /// A result with its receipt, which has been verified.
    struct Receipted {
        let result: UploadResult
        let signed: SignedReceipt
    }

    /// Reads acknowledgements until `count` of them have their receipts, which are in the results or in later frames.
    ///
    /// - Parameters:
    ///   - key: key of the server.
    ///   - path: path that the upload of a result requested. Its kind has to be `file`.
    /// - Throws: also if a receipt is invalid.
    func receipted(_ count: Int = 1, by key: ServerKey, path: (UploadID) -> String?) throws -> [Receipted] {
        var (found, owed): ([Receipted], [UploadResult]) = ([], [])
        let verifier = BatchVerifier(key)
        while found.count < count {
            switch try answer() {
            case .result(let result):
                guard let bytes = result.receipt else {
                    if result.isAcknowledgement { owed.append(result) }
                    continue
                }
                let signed = try SignedReceipt(decoding: bytes)
                try ReceiptVerifier().verify(signed)
                found.append(Receipted(result: result, signed: signed))
            case .receipts(let receipts):
                let results = Array(owed.prefix(receipts.count))
                owed.removeFirst(results.count)
                let uploads = try results.map { try Self.acknowledged($0, path($0.id)) }
                for (result, signed) in zip(results, try verifier.verify(receipts, of: uploads)) {
                    found.append(Receipted(result: result, signed: signed))
                }
            case let message: throw Failure(description: "no result but \(message)")
            }
        }
        return found
    }

    private static func acknowledged(_ result: UploadResult, _ path: String?) throws -> ReceiptIssuer.Acknowledged {
        guard let digest = result.digest, let path = result.storedPath ?? path else {
            throw Failure(description: "nothing that a receipt could be for: \(result)")
        }
        return ReceiptIssuer.Acknowledged(
            uploadID: result.id, path: try RelativePath(path), kind: .file, size: result.size, digest: digest,
            result: result.code)
    }
}
