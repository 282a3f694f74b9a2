import TransferModel

/// What every program sees, and what a power cut could leave.
extension Medium {
    enum Possibility: Equatable {
        case nothing
        case content([UInt8])
        /// A file of which not all is synced.
        case uncertain
    }

    /// What may be at a path after a power cut now: contents, and nothing for no file.
    func possibilities(at path: String) -> [Possibility] {
        possibleObjects(at: path).map { object in
            guard let object, let file = files[object] else { return .nothing }
            return file.pending.isEmpty ? .content(file.certain) : .uncertain
        }
    }

    /// What may be at a path after a power cut now; nil for no file.
    func possibleObjects(at path: String) -> [Object?] {
        var places: [Object?] = [root]
        for component in path.split(separator: "/") {
            places = places.flatMap { place -> [Object?] in
                guard let place, let directory = directories[place] else { return [nil] }
                let later = directory.pending.filter { $0.name == component }.map(\.object)
                return [directory.certain[String(component)]] + later
            }
        }
        return places
    }

    /// A path that a power cut now may leave to a file which is not all there; nothing where there is none. What others
    /// have written is theirs.
    var halfWritten: String? {
        for (object, directory) in directories {
            guard let parent = directory.path, self.object(at: parent) == object else { continue }
            let later = directory.pending.lazy.compactMap { change in change.object.map { (change.name, $0) } }
            for (name, object) in Array(directory.certain.lazy.map { ($0.key, $0.value) }) + later {
                guard let file = files[object], !file.isForeign else { continue }
                if !file.pending.isEmpty || file.isLost { return parent.isEmpty ? name : parent + "/" + name }
            }
        }
        return nil
    }

    /// Whether somebody else has made what is at a path.
    func isForeign(_ path: String) -> Bool { object(at: path).flatMap { files[$0]?.isForeign } ?? false }

    func isForeign(_ object: Object) -> Bool { files[object]?.isForeign ?? false }

    /// What every program sees at a path; nothing for no file.
    func seen(at path: String) -> [UInt8]? { object(at: path).flatMap { files[$0]?.seen } }

    func seen(of object: Object) -> [UInt8]? { files[object]?.seen }

    /// What tells the file at a path from what it was before; nothing where there is none.
    func version(at path: String) -> ContentVersion? {
        guard let object = object(at: path), let file = files[object] else { return nil }
        return ContentVersion(
            object: UInt64(object), revision: file.modified, touch: file.changed, size: UInt64(file.seen.count))
    }

    func object(at path: String) -> Object? { object(at: path, from: root) }

    func object(at path: String, from directory: Object) -> Object? {
        var place = directory
        for component in path.split(separator: "/") where component != "." {
            guard let next = directories[place]?.seen[String(component)] else { return nil }
            place = next
        }
        return place
    }

    /// Every path of a file that every program sees, outside the server's own folder.
    var seenPaths: [String: Object] { filePaths.filter { !Self.isInTrash($0.key) } }

    /// The same in the trash.
    var trashedPaths: [String: Object] { filePaths.filter { Self.isInTrash($0.key) } }

    /// Whether any file has more than one name, outside the server's own folder or in the trash.
    var hasSecondNames: Bool {
        let objects = filePaths.values
        return Set(objects).count < objects.count
    }

    static func isInTrash(_ path: String) -> Bool { path == trash || path.hasPrefix(trash + "/") }

    private var filePaths: [String: Object] {
        var paths: [String: Object] = [:]
        for (object, directory) in directories {
            guard let parent = directory.path, self.object(at: parent) == object else { continue }
            for (name, object) in directory.seen where files[object] != nil {
                paths[parent.isEmpty ? name : parent + "/" + name] = object
            }
        }
        return paths
    }

    /// Every directory that every program sees, outside the server's own folder and without the one at the top.
    var seenDirectories: [String] {
        directories.compactMap { object, directory in
            directory.path.flatMap {
                !$0.isEmpty && !Self.isInTrash($0) && self.object(at: $0) == object ? $0 : nil
            }
        }.sorted()
    }

    /// The names in a folder of the server's own, with the files that they stand for.
    ///
    /// - Parameter folder: below that at the top; nothing for itself.
    func ownNames(_ folder: String = "") -> [String: Object] {
        object(at: Self.own + "/" + folder).flatMap { directories[$0]?.seen } ?? [:]
    }

    /// Of files that have a name of a part as well as one of their own: a power cut may leave both names of a rename.
    var seenWithOwnNames: [String: [UInt8]] {
        let own = Set(ownNames("incoming").values)
        return seenPaths.filter { own.contains($0.value) }.compactMapValues { files[$0]?.seen }
    }

    /// Whether the server's folder says that something is being synced, or could not be.
    var isMarked: Bool { ownNames().keys.contains { $0.hasPrefix("sync-running-") } }

    /// A part that the next server would go on with although a sync of it has failed; nothing where there is none.
    ///
    /// What grows says in a sheet beside it how far it is durable.
    var lostPart: String? {
        let names = ownNames("incoming")
        for (name, object) in names where name.utf8.count == 37 && name.hasSuffix(".part") {
            if names[name.dropLast(4) + "sheet"] != nil { continue }
            if files[object]?.isLost ?? false, !hasUntoldLoss(object) { return name }
        }
        return nil
    }

    /// Bytes of the parts that a server could go on with.
    var partBytes: Int {
        bytes(of: parts.filter { $0.key.utf8.count == 37 || $0.key.hasSuffix("-interrupted.part") })
    }

    /// Whether the server's folder has a part of an upload, whatever is done with it.
    func hasPart(_ id: UploadID) -> Bool { parts.keys.contains { $0.hasPrefix("\(id)") } }

    /// All parts, also those that were being synced when a server ended, and that no start has brought back yet.
    var parts: [String: Object] { ownNames("incoming").filter { $0.key.hasSuffix(".part") } }

    var bytesOfParts: Int { bytes(of: parts) }

    private func bytes(of names: [String: Object]) -> Int {
        names.values.reduce(0) { $0 + (files[$1]?.seen.count ?? 0) }
    }

    /// Bytes of what is for somebody.
    var mailBytes: Int { bytes(of: ownNames("mail")) }

    /// Whether a file, or a directory that it is in, will be under one of two names after a power cut now, and all of it.
    func hasOneName(_ object: Object) -> Bool {
        guard files[object]?.pending.isEmpty ?? true else { return false }
        return isRenamed(object)
    }

    /// Whether an object, or a directory that one of its names is in, is to have one of two names.
    private func isRenamed(_ object: Object) -> Bool {
        if object == root { return false }
        if renames.contains(where: { $0.object == object }) { return true }
        return directories.contains { $0.value.seen.values.contains(object) && isRenamed($0.key) }
    }

    /// Whether a power cut now may leave an object at a path.
    func mayHold(_ object: Object, at path: String) -> Bool {
        guard let name = path.split(separator: "/").last.map(String.init),
            let parent = self.object(at: Self.parent(path)), let directory = directories[parent]
        else { return false }
        return directory.certain[name] == object
            || directory.pending.contains { $0.name == name && $0.object == object }
    }

    /// Bytes of all files that every program sees, outside the server's own folder and in the trash; of one with several names once.
    var seenBytes: Int { Set(filePaths.values).reduce(0) { $0 + (files[$1]?.seen.count ?? 0) } }
}
