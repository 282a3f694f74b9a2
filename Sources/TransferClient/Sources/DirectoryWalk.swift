internal import CLinux
import Glibc
import TransferModel
import TransferSystem

/// Walks a directory tree from the top down, each directory in the order of its names, and holds only the names of the
/// directories that it is in.
struct DirectoryWalk {
    /// What was found.
    enum Found {
        case file(path: String, relative: String)
        /// A symbolic link, where those are wanted.
        case link(path: String, relative: String)
        /// Neither sent nor entered; the failure says why.
        case skipped(path: String, relative: String, LocalFailure)
    }

    private struct Level {
        let path: String
        let relative: String
        let filter: WalkFilter
        var entries: [(name: String?, shown: String, type: FileType)]
        /// Whether none of its files was handed out.
        var isUntouched = true
    }

    /// Files of one directory, without those that are left out.
    struct Files {
        let path: String
        let relative: String
        /// In the order of their bytes.
        let names: [String]
    }

    /// Called before a directory is read, with what holds in it but for its ignore file.
    typealias Visit = (_ path: String, _ relative: String, WalkFilter) -> Void

    private let selection: Selection
    private let findsLinks: Bool
    private let sweepsAt: time_t?
    private let places: ServerPlaces?
    private let visit: Visit?
    private var levels: [Level] = []
    private var pending: [Found] = []

    /// What the selection has left out so far.
    private(set) var leftOut = LeftOut()

    /// - Parameters:
    ///   - path: of the directory.
    ///   - relative: put before the names of what is found.
    ///   - selection: what is found at all.
    init(path: String, relative: String, selection: Selection = Selection()) {
        self.init(path: path, relative: relative, selection: selection, WalkFilter(selection), visit: nil)
    }

    /// - Parameters:
    ///   - filter: what holds in the directory.
    ///   - findsLinks: whether symbolic links are wanted; otherwise they are skipped.
    ///   - now: seconds since 1970, where what a removal that was killed has left gets its name back; nothing where that is only told.
    ///   - places: recognizes folders that the server stores in, which are skipped; nil where none can be.
    ///   - visit: called for each directory that is walked, from the top down.
    init(
        path: String, relative: String, selection: Selection, _ filter: WalkFilter, findsLinks: Bool = false,
        sweepsAt now: time_t? = nil, places: ServerPlaces? = nil, visit: Visit?
    ) {
        (self.selection, self.findsLinks, sweepsAt, self.places) = (selection, findsLinks, now, places)
        self.visit = visit
        enter(path, relative, filter)
    }

    mutating func next() -> Found? {
        if let found = pending.popLast() { return found }
        while let top = levels.indices.last {
            guard let entry = levels[top].entries.popLast() else {
                levels.removeLast()
                continue
            }
            if entry.type != .directory { levels[top].isUntouched = false }
            if let found = look(at: entry.name, shown: entry.shown, entry.type, in: levels[top]) { return found }
        }
        return nil
    }

    /// All files of the next directory at once, where nothing else comes before them.
    ///
    /// - Parameters:
    ///   - fewest: files that a directory has at least; those of others come one by one.
    ///   - destination: where what is in a directory goes; nothing for a path that is none. What makes no path there comes by
    ///     itself.
    mutating func nextFiles(atLeast fewest: Int, _ destination: (_ relative: String) -> RelativePath?) -> Files? {
        while pending.isEmpty, let top = levels.indices.last {
            if levels[top].isUntouched {
                levels[top].isUntouched = false
                if let files = takeFiles(of: top, atLeast: fewest, destination) { return files }
            }
            guard let entry = levels[top].entries.last else {
                levels.removeLast()
                continue
            }
            guard entry.type == .directory, let name = entry.name, !RelativePath.isReserved(name) else { return nil }
            levels[top].entries.removeLast()
            let level = levels[top]
            guard let filter = level.filter.entering(name) else {
                leftOut.folders += 1
                continue
            }
            enter("\(level.path)/\(name)", "\(level.relative)/\(name)", filter)
        }
        return nil
    }

    private mutating func takeFiles(
        of top: Int, atLeast fewest: Int, _ destination: (_ relative: String) -> RelativePath?
    ) -> Files? {
        let level = levels[top]
        guard level.entries.count >= fewest, let folder = destination(level.relative) else { return nil }
        var names: [String] = []
        var others: [(name: String?, shown: String, type: FileType)] = []
        for entry in level.entries.reversed() {
            if entry.type == .regular, let name = entry.name, isSent(name, of: level),
                RelativePath.accepts(name, in: folder)
            {
                names.append(name)
            } else {
                others.append(entry)
            }
        }
        guard names.count >= fewest else { return nil }
        levels[top].entries = others.reversed()
        return Files(path: level.path, relative: level.relative, names: names)
    }

    /// Whether a file is found that has a name of its own: what is left out, and what is refused, is not.
    private func isSent(_ name: String, of level: Level) -> Bool {
        !RelativePath.isReserved(name) && !SourceWitness.isName(name) && level.filter.sends(name)
            && selection.accepts { "\(level.path)/\(name)" }
    }

    /// - Returns: nothing when it is not wanted, or a directory that was entered.
    private mutating func look(at name: String?, shown: String, _ type: FileType, in level: Level) -> Found? {
        guard let name else {
            guard level.filter.sends(shown) else { return nil }
            let failure = LocalFailure(code: .sourceUnreadable, message: "Its name is not UTF-8; rename it.")
            return .skipped(path: "\(level.path)/\(shown)", relative: "\(level.relative)/\(shown)", failure)
        }
        let (path, relative) = ("\(level.path)/\(name)", "\(level.relative)/\(name)")
        guard !RelativePath.isReserved(name) else {
            let isWanted = type == .directory ? level.filter.entering(name) != nil : level.filter.sends(name)
            return isWanted ? .skipped(path: path, relative: relative, .reserved) : nil
        }
        switch type {
        case .regular where SourceWitness.isName(name), .symbolicLink where SourceWitness.isName(name):
            return look(atWitness: name, type, in: level)
        case .regular:
            guard isSent(name, of: level) else {
                leftOut.files += 1
                return nil
            }
            return .file(path: path, relative: relative)
        case .directory:
            guard let filter = level.filter.entering(name) else {
                leftOut.folders += 1
                return nil
            }
            enter(path, relative, filter)
            return pending.popLast()
        case let type:
            guard level.filter.sends(name) else {
                if type == .symbolicLink, findsLinks { leftOut.files += 1 }
                return nil
            }
            if type == .symbolicLink, findsLinks { return .link(path: path, relative: relative) }
            return .skipped(path: path, relative: relative, .special(type.description))
        }
    }

    /// A mark of this program's own is nobody's file, unless a removal that was killed has left a source under its name, whatever the
    /// selection says of that.
    private mutating func look(atWitness name: String, _ type: FileType, in level: Level) -> Found? {
        let path = "\(level.path)/\(name)"
        if let sweepsAt, let directory = try? SourceDirectory(level.path.isEmpty ? "/" : level.path),
            let back = SourceWitness.sweep(name, in: directory, at: sweepsAt)
        {
            return look(at: back, shown: back, type, in: level)
        }
        guard SourceWitness.isTaken(name) else { return nil }
        return .skipped(path: path, relative: "\(level.relative)/\(name)", .leftByRemoval)
    }

    private mutating func enter(_ path: String, _ relative: String, _ filter: WalkFilter) {
        if let places, ServerPlaces.isServers(path), let failure = places.refusal(ofSource: path) {
            return pending.append(.skipped(path: path, relative: relative, failure))
        }
        visit?(path, relative, filter)
        guard let stream = opendir(path) else {
            pending.append(
                .skipped(path: path, relative: relative, .unreadable(SystemError(errno: errno, call: "opendir"))))
            return
        }
        defer { closedir(stream) }
        var entries: [(name: String?, shown: String, type: FileType)] = []
        while let entry = readdir(stream) {
            let (name, shown) = Self.name(entry)
            guard shown != ".", shown != ".." else { continue }
            entries.append((name, shown, Self.type(entry, in: stream)))
        }
        do throws(IgnoreFile.Fault) {
            let hasIgnoreFile = entries.contains { entry in
                selection.ignoreFile.map { entry.name?.hasSameBytes(as: $0) ?? false } ?? false
            }
            let filter = hasIgnoreFile ? try filter.reading(in: path) : filter
            entries.sort { PathKey($1.shown) < PathKey($0.shown) }
            levels.append(Level(path: path == "/" ? "" : path, relative: relative, filter: filter, entries: entries))
        } catch {
            let message = "Nothing of it is sent: its \(selection.ignoreFile ?? "") \(error.message)."
            let failure = LocalFailure(code: .sourceUnreadable, message: message)
            pending.append(.skipped(path: path, relative: relative, failure))
        }
    }

    private static func name(_ entry: UnsafeMutablePointer<dirent>) -> (String?, shown: String) {
        withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                (String(validatingCString: $0), String(cString: $0))
            }
        }
    }

    /// Most file systems tell the type with the name; the others are asked.
    private static func type(_ entry: UnsafeMutablePointer<dirent>, in stream: OpaquePointer) -> FileType {
        switch Int(entry.pointee.d_type) {
        case DT_REG: return .regular
        case DT_DIR: return .directory
        case DT_LNK: return .symbolicLink
        case DT_FIFO: return .fifo
        case DT_SOCK: return .socket
        case DT_CHR, DT_BLK: return .device
        default:
            var status = stat()
            let code = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                    fstatat(dirfd(stream), $0, &status, AT_SYMLINK_NOFOLLOW)
                }
            }
            return code == 0 ? FileType(mode: status.st_mode) : .unknown
        }
    }
}
