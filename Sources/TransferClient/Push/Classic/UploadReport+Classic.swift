import TransferClassic
import TransferKeys
import TransferModel
import TransferSystem

extension UploadReport {
    /// For what a server of a classic framing said.
    ///
    /// - Parameter sha256: as it was declared, which is what a verified success is about.
    init(_ upload: PendingUpload, _ verdict: ClassicVerdict, sha256: [UInt8]?) {
        switch verdict {
        case .stored:
            self = .failed(
                upload,
                Failure(
                    .stored, "The other side says that it is stored (verified: no, durable: unknown)."))
        case .failed:
            self = .failed(
                upload,
                Failure(.storageFailed, "The other side says that it has failed, and not why."))
        case .result(let result):
            self = .failed(upload, Failure(result.code, result.message ?? ""))
            guard isVerified else { return }
            storedPath = result.path ?? result.name
            digest = sha256.map { Digest(.sha256, $0) }
        }
    }
}
