import TransferSystem

/// A list with the file that it comes from, read again when that has changed.
struct WatchedList<Entry: AccessEntry>: Sendable {
    private(set) var current: CurrentList<Entry>

    private var identity: FileIdentity?
    private var hasBeenRead = false
    private var isSettled = false

    /// File systems give files the time of a clock that ticks every 10 ms at most. Two changes within one tick can look
    /// like one, so what was read so soon after a change is read again.
    private static var tick: Int64 { 100_000_000 }

    init(_ name: String) {
        current = CurrentList(name)
    }

    /// Costs one system call where nothing has changed.
    ///
    /// - Returns: the list as it is now.
    mutating func refresh(from folder: AccessFolder) -> CurrentList<Entry> {
        let path = folder.path(current.name)
        let present = OwnFile.identity(of: path)
        guard !hasBeenRead || !isSettled || present != identity else { return current }
        hasBeenRead = true
        // From before it is read: a change after that is noticed next time.
        identity = present
        isSettled = present.map { utcNanoseconds() &- $0.changed > Self.tick } ?? true
        let read = folder.read(current.name, of: Entry.self, revision: current.revision + 1)
        if read.fault != current.fault || read.list.content != current.list.content { current = read }
        return current
    }
}
