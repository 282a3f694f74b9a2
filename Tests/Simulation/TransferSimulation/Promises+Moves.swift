/// Promises for files that are moved to other paths.
extension Promises {
    /// Content that was promised under a path, while no client knows yet that the content is moved to another path.
    struct Moving {
        let object: Medium.Object
        let published: [Published]
        /// Paths at which the content may be, the newest last.
        var places: [String]
    }

    /// A file whose path the catalog knew when it was moved.
    struct Known {
        var path: String
        var earlier: Set<String>
        /// Earlier paths of the file at which it has got a hard link after the move. If a server dies before it has settled the move,
        /// the next server finds the file at such a path, which the catalog still has, and takes it for a file that was not moved.
        var names: Set<String> = []
    }

    /// A file has been moved, and its new path is not durable so far.
    ///
    /// - Parameter isKnown: whether the catalog knows the file in its present state.
    mutating func moved(_ object: Medium.Object, from path: String, to target: String, isKnown: Bool) {
        for changed in [path, target] { noteChange(of: changed) }
        movings.removeAll { $0.places.last == target && $0.object != object }
        let source = paths[path] ?? Path()
        if let index = movings.firstIndex(where: { $0.object == object && $0.places.last == path }) {
            movings[index].places.append(target)
        } else if source.isPromised {
            movings.append(Moving(object: object, published: source.published, places: [path, target]))
        }
        publications += 1
        let arrived = source.published.map { Published(content: $0.content, number: publications) }
        paths[path]?.isPromised = false
        paths[target, default: Path()].published += arrived
        paths[target]?.isPromised = false
        for published in arrived {
            ever[target, default: []].insert(published.content)
            voided[target]?.remove(published.content)
            places[published.content]?[path] = nil
            places[published.content, default: [:]][target] = changes
        }
        for (other, known) in known where known.path == target && other != object { self.known[other] = nil }
        var (earlier, names) = (known[object]?.earlier ?? [], known[object]?.names ?? [])
        guard isKnown else { return known[object] = nil }
        earlier.insert(path)
        earlier.remove(target)
        names.subtract([path, target])
        known[object] = Known(path: target, earlier: earlier, names: names)
    }

    /// A client received the answer that a move of these files is durable. Moves of their other names may still be
    /// under way.
    ///
    /// - Parameter place: present path of the files, or of the folder that contains them.
    mutating func answered(_ objects: Set<Medium.Object>, at place: String, _ medium: Medium) throws(Broken) {
        for moving in movings.filter({ objects.contains($0.object) }) {
            guard let target = moving.places.last, target == place || target.hasPrefix(place + "/") else { continue }
            movings.removeAll { $0.object == moving.object && $0.places.last == target }
            let ours = Set(moving.published.map(\.content))
            let left = (paths[target]?.published ?? []).filter { ours.contains($0.content) }
            paths[target] = Path(published: left, isPromised: !left.isEmpty)
            for earlier in moving.places.dropLast() where earlier != target {
                guard medium.object(at: earlier) != moving.object, medium.mayHold(moving.object, at: earlier) else {
                    continue
                }
                throw Broken("\(earlier) was moved to \(target), and may be there again after a power cut")
            }
        }
    }

    /// A file is to be removed: it may be gone, and may come back after a power cut.
    mutating func removed(_ path: String, _ object: Medium.Object?) {
        noteChange(of: path)
        movings.removeAll { $0.places.last == path }
        for published in paths[path]?.published ?? [] { places[published.content]?[path] = nil }
        paths[path]?.isPromised = false
        if let object { known[object] = nil }
    }

    /// A file has got one more name: if the catalog has an earlier entry for that path, the entry is right again.
    mutating func linked(_ object: Medium.Object, at path: String) {
        if known[object]?.earlier.remove(path) != nil { known[object]?.names.insert(path) }
    }

    /// Other programs have changed a path: the catalog may still say what the server stored there before.
    mutating func forgetEarlier(_ path: String) {
        for object in known.keys { known[object]?.earlier.remove(path) }
    }

    /// An upload has taken a path to which a file was moved, so the catalog need not know that file any more.
    mutating func forgetKnown(at path: String) {
        known = known.filter { $0.value.path != path }
    }

    func checkMovings(_ medium: Medium, _ contents: (Int) -> [UInt8]) throws(Broken) {
        for moving in movings where !medium.hasOneName(moving.object) {
            let isSafe = moving.places.contains { place in
                medium.possibilities(at: place).allSatisfy { possibility in
                    if case .content(let bytes) = possibility { Self.has(bytes, moving, contents) } else { false }
                }
            }
            guard isSafe else {
                throw Broken(
                    "what was acknowledged, and is on its way along \(moving.places), may be gone from the disk")
            }
        }
    }

    /// After a power cut, each moved file has one of the paths that it was moved along.
    mutating func settleMovings(_ medium: Medium, _ contents: (Int) -> [UInt8]) throws(Broken) {
        for moving in movings {
            let place = moving.places.last { medium.seen(at: $0).map { Self.has($0, moving, contents) } ?? false }
            guard let place else {
                throw Broken("after a power cut, what was on its way along \(moving.places) is nowhere")
            }
            paths[place, default: Path()].isPromised = true
            for earlier in moving.places where earlier != place { paths[earlier]?.isPromised = false }
        }
        movings = []
    }

    private static func has(_ bytes: [UInt8], _ moving: Moving, _ contents: (Int) -> [UInt8]) -> Bool {
        moving.published.contains { contents($0.content) == bytes }
    }
}
