import TransferSystem

/// A list that is read from a file, and read again when the file has changed.
struct WatchedList<Entry: AccessEntry>: Sendable {
    private(set) var current: CurrentList<Entry>

    private var identity: FileIdentity?
    private var hasBeenRead = false
    private var isSettled = false

    /// Nanoseconds after a change of the file during which it is read at each call: file systems use a clock that may
    /// tick only every 10 ms, and two changes within one tick look like one.
    private static var tick: Int64 { 100_000_000 }

    init(_ name: String) {
        current = CurrentList(name)
    }

    /// Returns the present list. This takes one system call if the file is unchanged.
    mutating func refresh(from folder: AccessFolder) -> CurrentList<Entry> {
        let path = folder.path(current.name)
        let present = OwnFile.identity(of: path)
        guard !hasBeenRead || !isSettled || present != identity else { return current }
        hasBeenRead = true
        // The identity is taken before the file is read, so that a change during the reading is noticed next time.
        identity = present
        isSettled = present.map { utcNanoseconds() &- $0.changed > Self.tick } ?? true
        let read = folder.read(current.name, of: Entry.self, revision: current.revision + 1)
        if read.fault != current.fault || read.list.content != current.list.content { current = read }
        return current
    }
}
