import TransferModel

/// The state that every program sees, and the states that a power cut could leave.
extension Medium {
    enum Possibility: Equatable {
        case nothing
        case content([UInt8])
        /// A file that is not completely synced.
        case uncertain
    }

    /// Contents that a power cut now could leave at a path. `.nothing` stands for no file.
    func possibilities(at path: String) -> [Possibility] {
        possibleObjects(at: path).map { object in
            guard let object, let file = files[object] else { return .nothing }
            return file.pending.isEmpty ? .content(file.certain) : .uncertain
        }
    }

    /// Objects that a power cut now could leave at a path; nil for no file.
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

    /// A path at which a power cut now may leave an incomplete file; nil if the medium has no path of this kind. Files
    /// that other programs wrote do not count.
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

    /// Whether another program wrote the file at a path.
    func isForeign(_ path: String) -> Bool { object(at: path).flatMap { files[$0]?.isForeign } ?? false }

    func isForeign(_ object: Object) -> Bool { files[object]?.isForeign ?? false }

    /// Content that every program sees at a path; nil if no file is there.
    func seen(at path: String) -> [UInt8]? { object(at: path).flatMap { files[$0]?.seen } }

    func seen(of object: Object) -> [UInt8]? { files[object]?.seen }

    /// Version of the file at a path, which differs after each change of the file; nil if no file is there.
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

    /// Files that every program sees outside the server's own folder, by path.
    var seenPaths: [String: Object] { filePaths.filter { !Self.isInTrash($0.key) } }

    /// Files that every program sees in the trash, by path.
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

    /// Directories that every program sees outside the server's own folder, except the one at the top.
    var seenDirectories: [String] {
        directories.compactMap { object, directory in
            directory.path.flatMap {
                !$0.isEmpty && !Self.isInTrash($0) && self.object(at: $0) == object ? $0 : nil
            }
        }.sorted()
    }

    /// Names in a folder below the server's own folder, with the objects that they stand for.
    ///
    /// - Parameter folder: path below the server's own folder; empty for the own folder itself.
    func ownNames(_ folder: String = "") -> [String: Object] {
        object(at: Self.own + "/" + folder).flatMap { directories[$0]?.seen } ?? [:]
    }

    /// Content of files that have a published path as well as the name of a part: a power cut may leave both names of a
    /// rename.
    var seenWithOwnNames: [String: [UInt8]] {
        let own = Set(ownNames("incoming").values)
        return seenPaths.filter { own.contains($0.value) }.compactMapValues { files[$0]?.seen }
    }

    /// Whether a mark in the server's folder says that a sync is under way or has failed.
    var isMarked: Bool { ownNames().keys.contains { $0.hasPrefix("sync-running-") } }

    /// A part that the next server would resume although a sync of it has failed; nil if no part is in this state.
    ///
    /// A sheet beside the part of an append says how many bytes are durable, so parts with a sheet do not count.
    var lostPart: String? {
        let names = ownNames("incoming")
        for (name, object) in names where name.utf8.count == 37 && name.hasSuffix(".part") {
            if names[name.dropLast(4) + "sheet"] != nil { continue }
            if files[object]?.isLost ?? false, !hasUntoldLoss(object) { return name }
        }
        return nil
    }

    /// Bytes of the parts that a server could resume.
    var partBytes: Int {
        bytes(of: parts.filter { $0.key.utf8.count == 37 || $0.key.hasSuffix("-interrupted.part") })
    }

    /// Whether the server's folder has a part of an upload, in any state.
    func hasPart(_ id: UploadID) -> Bool { parts.keys.contains { $0.hasPrefix("\(id)") } }

    /// All parts, including those that an earlier server was syncing when it ended and that no later server has
    /// recovered yet.
    var parts: [String: Object] { ownNames("incoming").filter { $0.key.hasSuffix(".part") } }

    var bytesOfParts: Int { bytes(of: parts) }

    private func bytes(of names: [String: Object]) -> Int {
        names.values.reduce(0) { $0 + (files[$1]?.seen.count ?? 0) }
    }

    /// Bytes of the mail that the server stores.
    var mailBytes: Int { bytes(of: ownNames("mail")) }

    /// Whether a power cut now leaves an object complete and under one of two names, because the object or a directory
    /// above it was renamed.
    func hasOneName(_ object: Object) -> Bool {
        guard files[object]?.pending.isEmpty ?? true else { return false }
        return isRenamed(object)
    }

    /// Whether a rename that may not be durable concerns an object or a directory above it.
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

    /// Bytes of all files that every program sees outside the server's own folder and in the trash. A file with several
    /// names counts once.
    var seenBytes: Int { Set(filePaths.values).reduce(0) { $0 + (files[$1]?.seen.count ?? 0) } }
}
