import TransferProtocol

/// Decides, from the server's answers alone, which uploads are looked up before they are sent. As long as the server
/// knows them, all are looked up first. When it does not, uploads are sent without a lookup, and only a sample is
/// looked up from time to time. All lanes of a push share one governor.
struct LookupGovernor {
    private enum Phase {
        /// The server has not answered any lookup yet.
        case opening
        /// The server knows the uploads, except for the last `misses`.
        case asking(misses: Int)
        /// The server does not know them; `sent` uploads were sent since the last sample, and the next one follows
        /// after `pause` uploads.
        case sending(sent: Int, pause: Int)
    }

    /// What may be done with the next uploads.
    struct Orders: Equatable, Sendable {
        /// The number of uploads that may be looked up.
        var questions = 0

        /// The bytes of content that may be sent without a lookup; `unlimited` for all.
        var unasked = unlimited

        /// The limits of questions about folders; nil to look up each file.
        var folders: FolderRoom?

        static let unlimited = UInt64.max
    }

    /// The number of uploads to look up while it is unknown whether that helps: enough to find a known one in a tree
    /// that is partly known, and too few to cost anything.
    static let sample = 32

    /// The bytes of content to send before the first question. TCP sends ten segments at once (RFC 6928), and more only
    /// when the first are confirmed, which is when the answer arrives: holding these back would save no time. Content
    /// after the question waits for the answer.
    static let firstFlight: UInt64 = 10 * 1448

    /// The unknown uploads in a row after which uploads are sent without lookup.
    static let patience = 256

    /// The number of uploads that are sent between two samples; it doubles after every sample that the server does not
    /// know.
    static let pauses = 256...4096

    private var phase = Phase.opening
    private var flight = Self.firstFlight
    /// The number of folders of which the server did not know all files, minus the number of folders that it knew; at
    /// least 0.
    private var strangeFolders = 0
    /// The number of folders of which the server knew all files.
    private var knownFolders = 0
    /// The number of uploads to look up before the next question about a folder.
    private var folderPause = 0

    /// The excess of unknown folders after which files are looked up one by one for a while: a question about a folder
    /// in vain costs half as much as looking up its files.
    static let folderPatience = 16

    /// The number of uploads to look up before the next question about a folder; it doubles with each further unknown
    /// folder.
    static let folderPauses = 4096...262_144

    /// - Parameters:
    ///   - open: the uploads that this lane has looked up without an answer yet.
    ///   - folders: the limits of questions about folders; nil if there can be none.
    func orders(open: Int, folders: FolderRoom? = nil) -> Orders {
        switch phase {
        case .opening: Orders(questions: max(0, Self.sample - open), unasked: flight)
        // Lookups have no limit here, because the window of unacknowledged uploads limits them.
        case .asking: Orders(questions: .max, unasked: 0, folders: folderPause == 0 ? folders : nil)
        case .sending(let sent, let pause): Orders(questions: sent >= pause ? Self.sample : 0)
        }
    }

    /// Counts uploads that are sent without a lookup.
    mutating func sent(unasked count: Int, bytes: UInt64) {
        flight -= min(flight, bytes)
        guard case .sending(let sent, let pause) = phase else { return }
        phase = .sending(sent: sent + count, pause: pause)
    }

    /// Notes that a lookup was sent.
    mutating func asked() {
        flight = 0
        guard case .sending(_, let pause) = phase else { return }
        phase = .sending(sent: 0, pause: min(2 * pause, Self.pauses.upperBound))
    }

    /// Notes that the server knows an upload.
    mutating func knew() {
        folderPause -= min(folderPause, 1)
        phase = .asking(misses: 0)
    }

    /// Notes that the server does not know some uploads.
    mutating func missed(_ count: Int) {
        folderPause -= min(folderPause, count)
        switch phase {
        case .opening: phase = .sending(sent: 0, pause: Self.pauses.lowerBound)
        case .asking(let misses) where misses + count >= Self.patience:
            phase = .sending(sent: 0, pause: Self.pauses.lowerBound)
        case .asking(let misses): phase = .asking(misses: misses + count)
        case .sending: break
        }
    }

    /// The most unanswered questions about folders: few at first, because all may be unknown, and more with each known
    /// folder.
    var folderWindow: Int { Self.folderPatience + 2 * min(knownFolders, Limits.requests) }

    /// Notes the answer to a question about a folder.
    ///
    /// - Parameter isKnown: whether the server has all files of the folder.
    mutating func compared(isKnown: Bool) {
        guard !isKnown else {
            knownFolders += 1
            strangeFolders = max(0, strangeFolders - 1)
            return
        }
        strangeFolders += 1
        let excess = strangeFolders - Self.folderPatience
        guard excess > 0 else { return }
        folderPause = min(Self.folderPauses.lowerBound << min(excess - 1, 16), Self.folderPauses.upperBound)
    }

    /// Notes that the server knew an upload that was sent: it may know the next ones too.
    mutating func sentInVain() {
        guard case .sending(let sent, _) = phase else { return }
        phase = .sending(sent: sent, pause: Self.pauses.lowerBound)
    }

    /// Looks everything up after a lost connection, because uploads under way may have arrived.
    mutating func lost() {
        phase = .asking(misses: 0)
    }
}
