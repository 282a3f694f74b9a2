import TransferProtocol
import TransferSystem

extension UploadReport {
    /// For what the server answered.
    init(_ upload: PendingUpload, _ result: UploadResult) {
        self.init(
            source: upload.label, uploadID: upload.id, result: result.code,
            storedPath: result.isAcknowledgement ? result.storedPath ?? upload.destination : nil, kind: upload.kind,
            size: upload.size ?? result.size, digest: result.digest, isDurable: result.isDurable,
            seconds: Double(monotonicNanoseconds() - upload.started) / 1e9, message: result.message)
    }
}

extension UploadResult {
    /// Whether the content is stored.
    fileprivate var isAcknowledgement: Bool { code == .committed || code == .alreadyStored }
}
