import Glibc
import TransferModel
import TransferSystem

/// Walks a directory tree from the top down, each directory in the order of names. Keeps only the names of directories
/// on the way to the current one.
struct DirectoryWalk {
    /// A result of the walk.
    enum Found {
        case file(SourcePlace, relative: String)
        /// A symbolic link, if `findsLinks` is set.
        case link(SourcePlace, relative: String)
        /// An entry that is neither sent nor entered; the failure says why.
        case skipped(path: String, relative: String, Failure)
    }

    private struct Level {
        let place: SourcePlace
        let relative: String
        let filter: WalkFilter
        /// Remaining entries in reverse order.
        var entries: [SourceDirectory.Entry]
        /// Whether none of the directory's files was returned yet.
        var isUntouched = true
    }

    /// Files of one directory, without those that are left out.
    struct Files {
        let place: SourcePlace
        let relative: String
        /// The files' names in the order of their bytes.
        let names: [String]
    }

    /// Called before a directory is read, with the filter for the directory, which does not include the directory's own
    /// ignore file yet.
    typealias Visit = (SourceDirectory, SourcePlace, _ relative: String, WalkFilter) -> Void

    private let selection: Selection
    private let findsLinks: Bool
    private let sweep: WitnessSweep?
    private let places: ServerPlaces?
    private let visit: Visit?
    private var levels: [Level] = []
    private var pending: [Found] = []

    /// What the selection has left out so far.
    private(set) var leftOut = LeftOut()

    /// - Parameters:
    ///   - place: the place of the directory.
    ///   - relative: prefix of the relative paths that are returned.
    ///   - selection: selects what the walk returns.
    init(_ place: SourcePlace, relative: String, selection: Selection = Selection()) {
        self.init(place, relative: relative, selection: selection, WalkFilter(selection), visit: nil)
    }

    /// - Parameters:
    ///   - filter: the filter for the directory.
    ///   - findsLinks: whether symbolic links are returned as such; otherwise they are skipped.
    ///   - sweep: lets sources that a killed removal has renamed get their names back; nil if they are only reported.
    ///   - places: recognizes folders that the server stores in, which are skipped; nil if there can be none.
    ///   - visit: called for each directory that is walked, from the top down.
    init(
        _ place: SourcePlace, relative: String, selection: Selection, _ filter: WalkFilter, findsLinks: Bool = false,
        sweep: WitnessSweep? = nil, places: ServerPlaces? = nil, visit: Visit?
    ) {
        (self.selection, self.findsLinks, self.sweep, self.places) = (selection, findsLinks, sweep, places)
        self.visit = visit
        enter(place, relative, filter)
    }

    mutating func next() -> Found? {
        if let found = pending.popLast() { return found }
        while let top = levels.indices.last {
            guard let entry = levels[top].entries.popLast() else {
                levels.removeLast()
                continue
            }
            if entry.type != .directory { levels[top].isUntouched = false }
            if let found = look(at: entry, in: levels[top]) { return found }
        }
        return nil
    }

    /// All files of the next directory at once; nil if another entry comes first.
    ///
    /// - Parameters:
    ///   - fewest: least number of files; those of smaller directories are returned one by one.
    ///   - destination: the path on the server for a directory; nil if it would be invalid. Files whose names would
    ///     make an invalid path are returned one by one.
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
            enter(level.place.child(name), "\(level.relative)/\(name)", filter)
        }
        return nil
    }

    private mutating func takeFiles(
        of top: Int, atLeast fewest: Int, _ destination: (_ relative: String) -> RelativePath?
    ) -> Files? {
        let level = levels[top]
        guard level.entries.count >= fewest, let folder = destination(level.relative) else { return nil }
        var names: [String] = []
        var others: [SourceDirectory.Entry] = []
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
        return Files(place: level.place, relative: level.relative, names: names)
    }

    /// Whether a file is sent without further checks: it is selected, and its name is neither reserved nor that of a
    /// witness.
    private func isSent(_ name: String, of level: Level) -> Bool {
        !RelativePath.isReserved(name) && !SourceWitness.isName(name) && level.filter.sends(name)
            && selection.accepts { level.place.child(name) }
    }

    /// - Returns: nil if the entry is not wanted, or is a directory that was entered.
    private mutating func look(at entry: SourceDirectory.Entry, in level: Level) -> Found? {
        guard let name = entry.name else {
            guard level.filter.sends(entry.shown) else { return nil }
            let failure = Failure(.sourceUnreadable, "Its name is not UTF-8; rename it.")
            return .skipped(
                path: "\(level.place.path)/\(entry.shown)", relative: "\(level.relative)/\(entry.shown)", failure)
        }
        let (place, relative) = (level.place.child(name), "\(level.relative)/\(name)")
        guard !RelativePath.isReserved(name) else {
            let isWanted = entry.type == .directory ? level.filter.entering(name) != nil : level.filter.sends(name)
            return isWanted ? .skipped(path: place.path, relative: relative, .reserved) : nil
        }
        switch entry.type {
        case .regular where SourceWitness.isName(name), .symbolicLink where SourceWitness.isName(name):
            return look(atWitness: name, entry.type, in: level)
        case .regular:
            guard isSent(name, of: level) else {
                leftOut.files += 1
                return nil
            }
            return .file(place, relative: relative)
        case .directory:
            guard let filter = level.filter.entering(name) else {
                leftOut.folders += 1
                return nil
            }
            enter(place, relative, filter)
            return pending.popLast()
        case let type:
            guard level.filter.sends(name) else {
                if type == .symbolicLink, findsLinks { leftOut.files += 1 }
                return nil
            }
            if type == .symbolicLink, findsLinks { return .link(place, relative: relative) }
            return .skipped(path: place.path, relative: relative, .special(type.description))
        }
    }

    /// Leaves out witnesses, which are not the user's files. A source that a killed removal has renamed gets its own
    /// name back, and is treated like any other entry. If that fails, it is reported, whatever the selection says of
    /// it.
    private mutating func look(atWitness name: String, _ type: FileType, in level: Level) -> Found? {
        if let sweep, let directory = try? level.place.openDirectory(),
            let back = SourceWitness.sweep(name, in: directory, sweep.key, at: sweep.time)
        {
            return look(at: SourceDirectory.Entry(name: back, shown: back, type: type), in: level)
        }
        guard SourceWitness.isTaken(name) else { return nil }
        return .skipped(path: level.place.child(name).path, relative: "\(level.relative)/\(name)", .leftByRemoval)
    }

    private mutating func enter(_ place: SourcePlace, _ relative: String, _ filter: WalkFilter) {
        let path = place.path.isEmpty ? "/" : place.path
        func skip(_ failure: Failure) {
            pending.append(.skipped(path: path, relative: relative, failure))
        }
        do throws(SystemError) {
            let directory = try place.openDirectory()
            if let places, ServerPlaces.isServers(directory),
                let failure = places.refusal(ofSource: directory, at: path)
            {
                return skip(failure)
            }
            visit?(directory, place, relative, filter)
            var entries = try directory.entries()
            entries.sort { PathKey($1.shown) < PathKey($0.shown) }
            switch self.filter(filter, of: directory, with: entries) {
            case .success(let filter):
                levels.append(Level(place: place, relative: relative, filter: filter, entries: entries))
            case .failure(let fault):
                let message = "Its files are not sent: its \(selection.ignoreFile ?? "") \(fault.message)."
                skip(Failure(.sourceUnreadable, message))
            }
        } catch {
            skip(.unreadable(error))
        }
    }

    /// The filter for a directory, including its ignore file.
    private func filter(
        _ filter: WalkFilter, of directory: SourceDirectory, with entries: [SourceDirectory.Entry]
    ) -> Result<WalkFilter, IgnoreFile.Fault> {
        let hasIgnoreFile = entries.contains { entry in
            selection.ignoreFile.map { entry.name?.hasSameBytes(as: $0) ?? false } ?? false
        }
        guard hasIgnoreFile else { return .success(filter) }
        return Result { () throws(IgnoreFile.Fault) in try filter.reading(in: directory) }
    }
}
