/// What a push tells the thread of a watch.
enum WatchNews: Sendable {
    case connected
    case lost(reason: String)
    case notice(String)
    /// Uploads that have ended, with what became of their sources.
    case finished([(report: UploadReport, fate: SourceFate)])
    /// The push is over.
    case ended(PushFailure?)
}
