import TransferModel
import TransferSystem

/// The directories with an inotify watch, by the watch's number. Used by one thread.
struct WatchedFolders {
    struct Folder {
        /// The path below the watched directory; empty for that itself.
        var relative: String
        /// The filter for the directory, without the directory's own ignore file.
        var filter: WalkFilter
        /// The filter with the ignore file, once it was needed.
        var resolved: WalkFilter?
        var scan: UInt64
    }

    private let inotify: Inotify
    private var folders: [Int32: Folder] = [:]
    private var scan: UInt64 = 0

    /// - Throws: EMFILE if this user may have no more inotify instances.
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

    /// - Throws: ENOSPC if this user may have no more watches, or another error of the kernel.
    mutating func add(_ directory: SourceDirectory, _ relative: String, _ filter: WalkFilter) throws(SystemError) {
        let watch = try inotify.watch(directory)
        folders[watch] = Folder(relative: relative, filter: filter, scan: scan)
    }

    /// The filter for a directory, including its ignore file.
    ///
    /// - Returns: nil if the directory or its ignore file cannot be read; then no file in the directory is sent.
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

    /// To be called when an ignore file has changed.
    mutating func forgetFilters() {
        for watch in folders.keys { folders[watch]?.resolved = nil }
    }

    /// To be called when the kernel has ended a watch.
    mutating func ended(_ watch: Int32) {
        folders[watch] = nil
    }

    /// Ends the watches of a moved directory and of all directories below, because their events would name the old
    /// path.
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
