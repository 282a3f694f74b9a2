/// What happens during a watch, in order.
public enum WatchEvent: Sendable {
    /// The directory is there and is watched; also when it is there again.
    ///
    /// - Parameter known: files that were acknowledged before.
    case watching(directory: String, known: Int)

    /// The directory is not there. It is waited for, and nothing of it counts as removed.
    case gone(directory: String)

    /// The server cannot be reached, or does not let this client in; once until it does.
    case lost(reason: String)

    /// The server has answered again, after so many seconds.
    case back(after: Double)

    /// An upload ended, and what became of its source.
    case finished(UploadReport, SourceFate)

    /// Something that is not sent for now, and why; a sentence.
    case held(source: String, reason: String)

    /// Something that people should be told: a sentence without its period.
    case notice(String)
}

/// What became of a source when its upload ended.
public enum SourceFate: Sendable, Equatable {
    /// It was to be left, or was not acknowledged.
    case left
    case removed
    /// It is under that path now.
    case moved(to: String)
    /// It was to go and is where it was; a sentence says why.
    case kept(String)
}
