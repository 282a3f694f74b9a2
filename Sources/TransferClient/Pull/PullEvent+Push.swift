import TransferModel

extension PullEvent {
    /// The event of a push that shows the same progress, for displays of both; nil if a push has no such event.
    package var asPush: PushEvent? {
        switch self {
        case .planned: nil
        case .counted(let files, let bytes): .counted(files: files, bytes: bytes)
        case .connected(let server): .connected(server: server)
        case .reconnecting(let reason, let seconds): .reconnecting(reason: reason, after: seconds)
        case .progress(let progress): .progress(progress)
        case .known(let folder): .known(folder)
        case .finished(let report):
            .finished(
                UploadReport(
                    source: report.source, uploadID: .none, result: report.result, storedPath: report.path, kind: .file,
                    size: report.size, digest: report.digest, seconds: report.seconds, message: report.message))
        }
    }
}
