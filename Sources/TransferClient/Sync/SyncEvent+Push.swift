import TransferModel

extension SyncEvent {
    /// The event of a push that means the same, for callers that show both kinds; nil if there is no such event.
    package var asPush: PushEvent? {
        switch self {
        case .connected(let server): .connected(server: server)
        case .notice(let sentence): .notice(sentence)
        case .reconnecting(let reason, let seconds): .reconnecting(reason: reason, after: seconds)
        case .planned(let files, let bytes): .counted(files: files, bytes: bytes)
        case .progress(let progress): .progress(progress)
        case .finished(let change) where change.action == .new || change.action == .changed:
            .finished(
                UploadReport(
                    source: change.path, uploadID: .none, result: change.isDone ? .committed : change.result,
                    kind: .file,
                    size: change.size, message: change.message))
        case .finished, .ended: nil
        }
    }
}
