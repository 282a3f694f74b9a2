import TransferProtocol

/// Decides which uploads the server is asked about before they are sent, from nothing but its answers: as long as it knows
/// them, all are asked about and nothing is sent that was not; when it doesn't, they are sent, and a few asked about from
/// time to time. One for all lanes of a push.
struct LookupGovernor {
    private enum Phase {
        /// Nothing was answered yet.
        case opening
        /// The server knows what comes; `misses` uploads in a row were not.
        case asking(misses: Int)
        /// It doesn't; `sent` uploads went since some were asked about, and some will be after `pause`.
        case sending(sent: Int, pause: Int)
    }

    /// What may be done with the next uploads that have not been asked about.
    struct Orders: Equatable, Sendable {
        /// How many of them may be asked about.
        var questions = 0

        /// Bytes of content that may be sent of those that are not; of `unlimited`, all.
        var unasked = unlimited

        /// What may be asked about by folder; nothing where each file is.
        var folders: FolderRoom?

        static let unlimited = UInt64.max
    }

    /// Uploads asked about while it isn't known whether that is of use: enough to meet one that is known in a tree of which
    /// only some is, and too few to cost anything.
    static let sample = 32

    /// Content that is sent in front of the first question. TCP sends ten segments at once (RFC 6928), and more only when the first
    /// of them were confirmed, which is when the answer comes: to hold these back would save no time. What comes behind the
    /// question waits, and so keeps its place.
    static let firstFlight: UInt64 = 10 * 1448

    /// Uploads in a row that the server doesn't know, after which they are sent unasked.
    static let patience = 256

    /// Uploads sent between two samples. Twice as many after every sample that was in vain.
    static let pauses = 256...4096

    private var phase = Phase.opening
    private var flight = Self.firstFlight
    /// Folders of which the server did not know all files, less those of which it did.
    private var strangeFolders = 0
    /// Folders of which it did.
    private var knownFolders = 0
    /// Uploads that are to be asked about before the next folder is.
    private var folderPause = 0

    /// Folders more that are strange than known before others are asked about file by file for a while: to ask about one in vain
    /// costs half as much as to ask about its files.
    static let folderPatience = 16

    /// Uploads asked about before the next folder is. Twice as many after each that was strange again.
    static let folderPauses = 4096...262_144

    /// - Parameters:
    ///   - open: uploads that were asked about on this lane and have no answer.
    ///   - folders: what may be asked about by folder, where that can be.
    func orders(open: Int, folders: FolderRoom? = nil) -> Orders {
        switch phase {
        case .opening: Orders(questions: max(0, Self.sample - open), unasked: flight)
        // The window bounds them.
        case .asking: Orders(questions: .max, unasked: 0, folders: folderPause == 0 ? folders : nil)
        case .sending(let sent, let pause): Orders(questions: sent >= pause ? Self.sample : 0)
        }
    }

    /// Uploads are on their way that were not asked about.
    mutating func sent(unasked count: Int, bytes: UInt64) {
        flight -= min(flight, bytes)
        guard case .sending(let sent, let pause) = phase else { return }
        phase = .sending(sent: sent + count, pause: pause)
    }

    /// Some were asked about.
    mutating func asked() {
        flight = 0
        guard case .sending(_, let pause) = phase else { return }
        phase = .sending(sent: 0, pause: min(2 * pause, Self.pauses.upperBound))
    }

    /// The server has the content of one that was asked about.
    mutating func knew() {
        folderPause -= min(folderPause, 1)
        phase = .asking(misses: 0)
    }

    /// It doesn't have that of so many.
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

    /// Folders that may be asked about before there are answers: few at first, because all may be strange, and more with each that
    /// is known.
    var folderWindow: Int { Self.folderPatience + 2 * min(knownFolders, Limits.requests) }

    /// A folder was asked about.
    ///
    /// - Parameter isKnown: whether the server has all that is in it.
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

    /// One was sent in vain: the next may be known too.
    mutating func sentInVain() {
        guard case .sending(let sent, _) = phase else { return }
        phase = .sending(sent: sent, pause: Self.pauses.lowerBound)
    }

    /// A connection was lost. Whatever was under way may have arrived.
    mutating func lost() {
        phase = .asking(misses: 0)
    }
}
