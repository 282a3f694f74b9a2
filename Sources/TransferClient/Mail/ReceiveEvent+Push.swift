import TransferModel

extension ReceiveEvent {
    /// The event of a push that shows the same progress, for displays of both; nil if a push has no such event.
    package var asPush: PushEvent? {
        switch self {
        case .connected(let server): .connected(server: server)
        case .reconnecting(let reason, let seconds): .reconnecting(reason: reason, after: seconds)
        case .found, .met: nil
        case .progress(let progress): .progress(progress)
        case .finished(let report):
            .finished(
                UploadReport(
                    source: report.delivery.shownName, uploadID: report.delivery.id, result: report.result,
                    storedPath: report.path, kind: report.delivery.shownKind, size: report.delivery.size,
                    digest: report.delivery.digest, seconds: report.seconds, message: report.message))
        }
    }
}
