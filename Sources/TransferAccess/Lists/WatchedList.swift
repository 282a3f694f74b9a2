import TransferSystem

/// A list from a file, read again when the file has changed.
struct WatchedList<Entry: AccessEntry>: Sendable {
    private(set) var current: CurrentList<Entry>

    private var identity: FileIdentity?
    private var hasBeenRead = false
    private var isSettled = false

    /// Nanoseconds after a change within which the file is read again: file systems use a clock that ticks at least
    /// every 10 ms, and two changes within one tick look like one.
    private static var tick: Int64 { 100_000_000 }

    init(_ name: String) {
        current = CurrentList(name)
    }

    /// Returns the present list, with one system call if the file is unchanged.
    mutating func refresh(from folder: AccessFolder) -> CurrentList<Entry> {
        let path = folder.path(current.name)
        let present = OwnFile.identity(of: path)
        guard !hasBeenRead || !isSettled || present != identity else { return current }
        hasBeenRead = true
        // Taken before the file is read, so that a later change is noticed next time.
        identity = present
        isSettled = present.map { utcNanoseconds() &- $0.changed > Self.tick } ?? true
        let read = folder.read(current.name, of: Entry.self, revision: current.revision + 1)
        if read.fault != current.fault || read.list.content != current.list.content { current = read }
        return current
    }
}
