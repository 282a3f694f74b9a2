import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// Scans a tree on this machine.
struct LocalScan {
    private let tree: LocalTree
    /// The directory, for its ignore files.
    private let root: SourceRoot
    private let isSource: Bool
    private let isStopped: () -> Bool
    private let places: ServerPlaces?
    private var filter: SyncFilter
    private var entries: [SyncEntry] = []
    private var specials: [SyncTree.Fault] = []
    private var stranded: [SyncTree.Fault] = []
    private var faults: [SyncTree.Fault] = []
    private var held: Set<RelativePath> = []
    /// Folders in which the server stores, or may store, uploads.
    private var servers: Set<RelativePath> = []

    /// - Parameters:
    ///   - isSource: whether the tree is the source, for which ignore files and the limits of sizes and times apply.
    ///   - places: recognizes folders that the server stores in, which are left out; nil if there can be none.
    ///   - isStopped: returns whether the result is no longer needed.
    init(
        _ tree: LocalTree, at root: SourceRoot, isSource: Bool, _ filter: SyncFilter, places: ServerPlaces? = nil,
        isStopped: @escaping () -> Bool = { false }
    ) {
        (self.tree, self.root, self.isSource, self.filter) = (tree, root, isSource, filter)
        (self.isStopped, self.places) = (isStopped, places)
    }

    /// - Returns: the tree, and the filter with the ignore files of this tree, for the scan of the other tree.
    /// - Throws: if the directory itself cannot be read; `aborted` if the scan was stopped.
    mutating func run() throws(Failure) -> (SyncTree, SyncFilter) {
        let top = try tree.top()
        var folders: [RelativePath?] = [nil]
        while let folder = folders.popLast() {
            guard !isStopped() else { throw Failure(.aborted, "The scan of the directory was stopped.") }
            do throws(Failure) {
                try look(into: folder, &folders)
            } catch {
                guard let folder else { throw error }
                faults.append(SyncTree.Fault(path: folder.string, message: error.message))
            }
        }
        if !servers.isEmpty { entries.removeAll { servers.contains($0.path) } }
        let tree = SyncTree(
            top: SyncTree.Top(
                modified: top.attributes.modified, permissions: top.attributes.permissions, extra: top.extra),
            entries, leftOut: filter.leftOut, specials: specials, stranded: stranded, faults: faults, held: held)
        return (tree, filter)
    }

    private mutating func look(into folder: RelativePath?, _ folders: inout [RelativePath?]) throws(Failure) {
        let found = try tree.list(folder)
        if let folder, let failure = refusal(of: folder, with: found) { return leave(folder, failure) }
        if isSource, let name = filter.ignoreFile, found.contains(where: { $0.isNamed(name) }) {
            try readIgnoreFile(of: folder)
        }
        let rules = filter.filter(of: folder)
        for found in found {
            switch found {
            case .entry(let whole): take(SyncEntry(whole), by: rules, &folders)
            case .unnameable(let shown, let reason): faults.append(SyncTree.Fault(path: shown, message: reason))
            case .reserved(let name, let isFolder): take(reserved: name, isFolder: isFolder, in: folder, by: rules)
            case .special(let path, let what):
                specials.append(SyncTree.Fault(path: path.string, message: "It is \(what), which has no content."))
            case .unreadable(let path, let reason):
                faults.append(SyncTree.Fault(path: path.string, message: "It cannot be read: \(reason)."))
            }
        }
    }

    private func refusal(of folder: RelativePath, with found: [LocalTree.Found]) -> Failure? {
        let isServers = found.contains { found in
            guard case .reserved(let name, isFolder: true) = found else { return false }
            return name.hasSameBytes(as: RelativePath.reservedName)
        }
        let place = SourcePlace(folder.string, below: root)
        guard isServers, let places, let directory = try? place.openDirectory() else { return nil }
        return ServerPlaces.isServers(directory) ? places.refusal(ofSource: directory, at: place.path) : nil
    }

    /// Leaves out, on both sides, a folder in which the server stores, or may store, uploads.
    private mutating func leave(_ folder: RelativePath, _ failure: Failure) {
        let fault = SyncTree.Fault(path: folder.string, message: failure.message)
        servers.insert(folder)
        filter.leaveOut(folder)
        if failure == .servers { stranded.append(fault) } else { faults.append(fault) }
    }

    /// - Parameter rules: the rules in the entry's folder.
    private mutating func take(_ entry: SyncEntry, by rules: WalkFilter, _ folders: inout [RelativePath?]) {
        if entry.isFolder {
            guard filter.enters(entry.path) else { return }
            folders.append(entry.path)
        } else {
            guard !SourceWitness.isName(entry.path.name) else { return take(witness: entry) }
            guard filter.takes(entry, by: rules, isSource: isSource) else { return }
        }
        entries.append(entry)
    }

    /// Entries with a reserved name are never sent. Transfer's own folders at the top do not belong to the user, and
    /// are not reported.
    private mutating func take(
        reserved name: String, isFolder: Bool, in folder: RelativePath?, by rules: WalkFilter
    ) {
        guard folder != nil || !isFolder || !RelativePath.isOwn(name) else { return }
        let path = (folder.map { $0.string + "/" } ?? "") + name
        guard isFolder ? rules.entering(name) != nil : rules.sendsAll || rules.sends(name) else {
            return
        }
        let fault = SyncTree.Fault(path: path, message: "Its name is reserved for Transfer, and no server accepts it.")
        guard !isSource else { return specials.append(fault) }
        if let folder { held.insert(folder) }
        stranded.append(fault)
    }

    /// Leaves out witnesses, which are not the user's files. A source that a killed removal has renamed is reported.
    private mutating func take(witness entry: SyncEntry) {
        guard SourceWitness.isTaken(entry.path.name) else { return }
        filter.leaveOut(entry.path)
        stranded.append(SyncTree.Fault(path: entry.path.string, message: Failure.leftByRemoval.message))
    }

    private mutating func readIgnoreFile(of folder: RelativePath?) throws(Failure) {
        do throws(IgnoreFile.Fault) {
            let directory = try directory(of: folder)
            if let folder {
                try filter.read(folder, in: directory)
            } else {
                filter = try filter.reading(topIn: directory)
            }
        } catch {
            throw Failure(.sourceUnreadable, "Its files are not sent: its ignore file \(error.message).")
        }
    }

    private func directory(of folder: RelativePath?) throws(IgnoreFile.Fault) -> SourceDirectory {
        do throws(SystemError) {
            return try SourcePlace(folder?.string ?? "", below: root).openDirectory()
        } catch {
            throw IgnoreFile.Fault(message: "cannot be read: \(error.reason)")
        }
    }
}

extension LocalTree.Found {
    /// Whether any entry has this name: an ignore file that is a link or a folder cannot be read, and what it excludes
    /// must not be sent.
    fileprivate func isNamed(_ name: String) -> Bool {
        switch self {
        case .entry(let entry): entry.path.name.utf8.elementsEqual(name.utf8)
        case .special(let path, _), .unreadable(let path, _): path.name.utf8.elementsEqual(name.utf8)
        case .unnameable, .reserved: false
        }
    }
}
