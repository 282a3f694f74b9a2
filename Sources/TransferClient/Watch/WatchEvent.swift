/// What happens during a watch, in order.
public enum WatchEvent: Sendable {
    /// The directory exists and is watched; also when it exists again.
    ///
    /// - Parameter known: number of files that were acknowledged before.
    case watching(directory: String, known: Int)

    /// The directory does not exist. The watch waits for it, and does not treat the files in it as removed.
    case gone(directory: String)

    /// The server cannot be reached, or refuses this client. Sent once until the server is back.
    case lost(reason: String)

    /// The server has answered again, the given number of seconds after it was lost.
    case back(after: Double)

    /// An upload ended, and this was done with its source.
    case finished(UploadReport, SourceFate)

    /// A source is not sent for now; the reason is a sentence.
    case held(source: String, reason: String)

    /// A message for people: a sentence without its period.
    case notice(String)
}

/// What was done with a source when its upload ended.
public enum SourceFate: Sendable, Equatable {
    /// It stays because the options say so, or because it was not acknowledged.
    case left
    case removed
    /// It was moved to this path.
    case moved(to: String)
    /// It should have been removed or moved, but stays; a sentence says why.
    case kept(String)
}
