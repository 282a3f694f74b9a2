import TransferModel
import TransferSystem

/// The directories of a watch that the kernel tells of, by the numbers of their inotify watches. Used by one thread.
struct WatchedFolders {
    struct Folder {
        /// Below the watched directory; empty for that itself.
        var relative: String
        /// What holds in it, but for its ignore file.
        var filter: WalkFilter
        /// The same with it, once that was needed.
        var resolved: WalkFilter?
        var scan: UInt64
    }

    private let inotify: Inotify
    private var folders: [Int32: Folder] = [:]
    private var scan: UInt64 = 0

    /// - Throws: EMFILE when this user has as many instances as there may be.
    init() throws(SystemError) {
        inotify = try Inotify()
    }

    var number: Int32 { inotify.number }

    subscript(watch: Int32) -> Folder? { folders[watch] }

    mutating func beginScan() {
        scan &+= 1
    }

    /// Ends the watches of directories that the scan has not found.
    mutating func endScan() {
        for (watch, folder) in folders where folder.scan != scan { end(watch) }
    }

    /// - Throws: ENOSPC when this user has as many watches as there may be, and what else the kernel says.
    mutating func add(_ directory: SourceDirectory, _ relative: String, _ filter: WalkFilter) throws(SystemError) {
        let watch = try inotify.watch(directory)
        folders[watch] = Folder(relative: relative, filter: filter, scan: scan)
    }

    /// What holds in a directory, its ignore file included.
    ///
    /// - Returns: nothing where that cannot be read: then nothing of the directory is sent.
    mutating func filter(of watch: Int32, in root: SourceRoot, _ ignoreFile: String?) -> WalkFilter? {
        guard let folder = folders[watch] else { return nil }
        if let resolved = folder.resolved { return resolved }
        guard let directory = try? SourcePlace(folder.relative, below: root).openDirectory() else { return nil }
        guard let ignoreFile, (try? directory.status(ignoreFile)) != nil else {
            folders[watch]?.resolved = folder.filter
            return folder.filter
        }
        let resolved = try? folder.filter.reading(in: directory)
        folders[watch]?.resolved = resolved
        return resolved
    }

    /// The ignore files have changed.
    mutating func forgetFilters() {
        for watch in folders.keys { folders[watch]?.resolved = nil }
    }

    /// The kernel has ended a watch.
    mutating func ended(_ watch: Int32) {
        folders[watch] = nil
    }

    /// Ends the watches of a directory and of all below: it was moved, and they would tell of it by its old path.
    mutating func endAll(below relative: String) {
        let prefix = Array("\(relative)/".utf8)
        for (watch, folder) in folders
        where folder.relative.hasSameBytes(as: relative) || folder.relative.utf8.starts(with: prefix) { end(watch) }
    }

    func next() throws(SystemError) -> [InotifyEvent] { try inotify.next() }

    private mutating func end(_ watch: Int32) {
        inotify.end(watch)
        folders[watch] = nil
    }
}
