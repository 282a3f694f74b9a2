import TransferSystem

/// A list with the file that it comes from, read again when that has changed.
struct WatchedList<Entry: AccessEntry>: Sendable {
    private(set) var list = AccessList<Entry>()

    /// Grows whenever the list is read.
    private(set) var revision = 0

    /// Whether all of the file could be read.
    private(set) var isComplete = true

    private let name: String
    private var identity: FileIdentity?
    private var hasBeenRead = false
    private var isSettled = false

    /// File systems give files the time of a clock that ticks every 10 ms at most. Two changes within one tick can look
    /// like one, so what was read so soon after a change is read again.
    private static var tick: Int64 { 100_000_000 }

    init(_ name: String) {
        self.name = name
    }

    /// Costs one system call where nothing has changed.
    ///
    /// - Returns: what is to be logged: sentences about lines that admit nobody, or about the whole file.
    mutating func refresh(from folder: AccessFolder) -> [String] {
        let path = folder.path(name)
        let present = OwnFile.identity(of: path)
        guard !hasBeenRead || !isSettled || present != identity else { return [] }
        let isNew = !hasBeenRead || present != identity
        hasBeenRead = true
        revision += 1
        // From before it is read: a change after that is noticed next time.
        identity = present
        isSettled = present.map { utcNanoseconds() &- $0.changed > Self.tick } ?? true
        do throws(AccessFault) {
            list = try folder.list(name, of: Entry.self)
            isComplete = list.faults.isEmpty
            return isNew ? list.faults.map { "Line \($0.line) of '\(name)' admits nobody: \($0.message)." } : []
        } catch {
            (list, isComplete) = (AccessList(), false)
            return isNew ? [error.message] : []
        }
    }
}
