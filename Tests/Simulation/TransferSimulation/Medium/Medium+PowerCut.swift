import Glibc
import TransferTestSupport

/// Chooses one of the states that a power cut may leave.
extension Medium {
    private static let pageSize = 4096

    /// Chooses one of the contents that a file may have after a power cut.
    static func content(of file: File, _ random: inout SplitMix64) -> [UInt8] {
        var content = file.certain
        for change in file.pending {
            switch change {
            case .truncate(let size): if Bool.random(using: &random) { content.resize(to: size) }
            case .write(let offset, let bytes):
                // The size may have grown on disk without the content.
                if Bool.random(using: &random) { content.resize(to: max(content.count, offset + bytes.count)) }
                for start in stride(from: 0, to: bytes.count, by: pageSize) where Bool.random(using: &random) {
                    content.put(Array(bytes[start..<min(start + pageSize, bytes.count)]), at: offset + start)
                }
            }
        }
        return content
    }

    /// Chooses one of the sets of names that a directory may have after a power cut.
    static func names(of directory: Directory, _ random: inout SplitMix64) -> [String: Object] {
        var names = directory.certain
        var meanings: [String: [Object?]] = [:]
        for (name, object) in directory.pending { meanings[name, default: []].append(object) }
        let inOrder = meanings.sorted {
            Self.rank($0.key, $0.value.last ?? nil) < Self.rank($1.key, $1.value.last ?? nil)
        }
        for (name, objects) in inOrder where Bool.random(using: &random) {
            names[name] = objects.randomElement(using: &random) ?? nil
        }
        return names
    }

    /// Key that orders names in the same way whenever a seed is played.
    private static func rank(_ name: String, _ object: Object?) -> (String, Object) {
        (Trace.withoutChance(name), object ?? 0)
    }

    /// Makes the state that a power cut leaves, in a new directory.
    ///
    /// - Parameter isCopied: whether the files are then copied to another disk, where they have other numbers and new
    ///   change times, and keep their times of modification.
    func cut(to path: String, isCopied: Bool = false, _ random: inout SplitMix64) -> Medium {
        var cut = Medium(root: path, after: self)
        var copies = Copies(isWhole: isCopied, names: namesLeft(&random))
        copy(root, to: path, cut.root, into: &cut, &copies, &random)
        cut.origins = copies.objects
        return cut
    }

    /// Files that are copied already: their new objects and their paths, by their old objects.
    private struct Copies {
        /// Whether every file and directory becomes a new object.
        let isWhole: Bool
        var objects: [Object: Object] = [:]
        var paths: [Object: String] = [:]
        /// Directories that have a name already: a directory never gets a second one.
        var placed: Set<Object> = []
        /// Names that each directory has after the power cut.
        var names: [Object: [String: Object]] = [:]
    }

    /// Chooses one of the sets of names that all directories may have after a power cut.
    private func namesLeft(_ random: inout SplitMix64) -> [Object: [String: Object]] {
        var left: [Object: [String: Object]] = [:]
        for (object, directory) in directories.sorted(by: { $0.key < $1.key }) {
            left[object] = Self.names(of: directory, &random)
        }
        for rename in renames where isSeen(rename.object) && !hasName(rename.object, left) {
            let isOldFree = left[rename.source]?[rename.name] == nil
            if isOldFree, directories[rename.source]?.certain[rename.name] == rename.object,
                Self.reaches(rename.source, from: root, left)
            {
                left[rename.source]?[rename.name] = rename.object
            } else {
                keep(rename.object, in: &left)
            }
        }
        return left
    }

    /// Whether an object has one of the names that it was renamed from or to. The medium does not record renames out of
    /// the server's own folder.
    private func hasName(_ object: Object, _ left: [Object: [String: Object]]) -> Bool {
        renames.contains { rename in
            let places = [(rename.source, rename.name), (rename.target, rename.newName)]
            return rename.object == object
                && places.contains { left[$0.0]?[$0.1] == object && Self.reaches($0.0, from: root, left) }
        }
    }

    /// Keeps the name that an object has now, and the names of the directories above it.
    private func keep(_ object: Object, in left: inout [Object: [String: Object]]) {
        for (parent, directory) in directories where isSeen(parent) {
            guard let name = directory.seen.first(where: { $0.value == object })?.key else { continue }
            left[parent]?[name] = object
            if !Self.reaches(parent, from: root, left) { keep(parent, in: &left) }
            return
        }
    }

    private func isSeen(_ object: Object) -> Bool { Self.reaches(object, from: root, directories.mapValues(\.seen)) }

    private static func reaches(_ object: Object, from place: Object, _ names: [Object: [String: Object]]) -> Bool {
        place == object || (names[place]?.values.contains { reaches(object, from: $0, names) } ?? false)
    }

    private func copy(
        _ directory: Object, to path: String, _ made: Object, into cut: inout Medium, _ copies: inout Copies,
        _ random: inout SplitMix64
    ) {
        guard directories[directory] != nil, copies.placed.insert(directory).inserted else { return }
        let names = (copies.names[directory] ?? [:]).sorted {
            Self.rank($0.key, $0.value) < Self.rank($1.key, $1.value)
        }
        for (name, object) in names {
            let name = Self.inNextBoot(name, below: cut.directories[made]?.path == nil)
            let target = path + "/" + name
            if let file = files[object] {
                // Only published files rot in the simulation. A journal does not bring back the name that a rotten file
                // had as a part.
                if file.isRotten, directories[directory]?.path == nil { continue }
                let new = cut.take(file, object, at: target, &copies, &random)
                if away.contains(object) { cut.away.insert(new) }
                cut.directories[made]?.certain[name] = new
                cut.directories[made]?.seen[name] = new
            } else if let text = links[object] {
                let new = cut.take(link: text, object, at: target)
                if away.contains(object) { cut.away.insert(new) }
                cut.directories[made]?.certain[name] = new
                cut.directories[made]?.seen[name] = new
            } else if let old = directories[object], !copies.placed.contains(object) {
                mkdir(target, 0o700)
                let new = copies.isWhole ? cut.newObject() : object
                if away.contains(object) { cut.away.insert(new) }
                cut.adopt(new, target)
                cut.directories[new] = Directory(modified: old.modified)
                cut.directories[made]?.certain[name] = new
                cut.directories[made]?.seen[name] = new
                let place = cut.path(made, name)
                cut.directories[new]?.path = place
                copy(object, to: target, new, into: &cut, &copies, &random)
            }
        }
    }

    /// - Returns: the same object if the file is unchanged, and otherwise a new one.
    private mutating func take(
        _ file: File, _ object: Object, at target: String, _ copies: inout Copies, _ random: inout SplitMix64
    ) -> Object {
        if let copy = copies.objects[object] {
            if let first = copies.paths[object] { Glibc.link(first, target) }
            return copy
        }
        let content = Self.content(of: file, &random)
        let isSame = file.pending.isEmpty && !file.isLost && !copies.isWhole
        let new = isSame ? object : newObject()
        Self.make(target, content)
        adopt(new, target)
        files[new] = File(
            seen: content, certain: content, isForeign: file.isForeign, isRotten: file.isRotten,
            modified: file.modified, changed: copies.isWhole ? stamp() : file.changed)
        copies.objects[object] = new
        copies.paths[object] = target
        return new
    }

    /// The mark of a running sync names the boot in which the sync ran. After a power cut, that boot is an earlier one.
    private static func inNextBoot(_ name: String, below own: Bool) -> String {
        guard own else { return name }
        for prefix in ["sync-running-", "unsynced-"] where name.hasPrefix(prefix) { return prefix + "earlier" }
        return name
    }

    private static func make(_ path: String, _ content: [UInt8]) {
        let number = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number >= 0 else { return }
        content.withUnsafeBytes { _ = Glibc.write(number, $0.baseAddress, $0.count) }
        close(number)
    }
}

extension [UInt8] {
    mutating func apply(_ change: Medium.Change) {
        switch change {
        case .write(let offset, let bytes): put(bytes, at: offset)
        case .truncate(let size): resize(to: size)
        }
    }

    /// Writes as pwrite(2) does: a gap before the bytes becomes zeros.
    mutating func put(_ bytes: [UInt8], at offset: Int) {
        resize(to: Swift.max(count, offset + bytes.count))
        replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    mutating func resize(to size: Int) {
        if count > size { removeLast(count - size) } else { self += [UInt8](repeating: 0, count: size - count) }
    }
}
