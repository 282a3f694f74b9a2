/// A pattern for paths on a server, split into components, so that only folders in which something can match are
/// listed. The first components can be plain names.
struct PathGlob: Sendable {
    private enum Component: Sendable {
        /// `**`: any number of folders.
        case folders
        case name(GlobPattern)
    }

    /// The position in the pattern that a walk down through folders has reached.
    struct Place: Sendable, Equatable {
        /// Indices of components that may come next, in ascending order.
        fileprivate var next: [Int]
        /// Number of folders that were entered below `folder`.
        fileprivate var depth = 0
    }

    /// What the pattern says of a name.
    struct Step: Sendable {
        /// Whether the path with this name matches.
        let isMatch: Bool
        /// The position in a folder of this name; nil if nothing in it can match.
        let below: Place?
    }

    /// The folder in which the walk begins.
    let folder: String

    private let components: [Component]
    private let ignoresCase: Bool
    /// If case is ignored, the number of plain names at the front of the pattern; otherwise 0. The folders that match
    /// them are not part of the local path of a match.
    private let named: Int
    private let isForFolders: Bool

    /// - Parameters:
    ///   - text: the pattern; a slash at its end restricts it to folders, and one in front has no meaning.
    ///   - ignoresCase: whether names that differ only by the case of letters are the same.
    /// - Returns: nil if the pattern can match one path only, or is too long.
    init?(_ text: String, ignoresCase: Bool) {
        let slash = UInt8(ascii: "/")
        let parts = text.utf8.split(separator: slash).map { Substring($0) }.filter { $0 != "." }
        guard text.utf8.count <= GlobPattern.longest, !parts.isEmpty else { return nil }
        var components: [Component] = []
        var names: [String] = []
        for part in parts {
            guard let pattern = GlobPattern(part, isAnchored: true) else { return nil }
            components.append(part == "**" ? .folders : .name(pattern))
            if let name = pattern.literal, part != "**", names.count == components.count - 1 { names.append(name) }
        }
        guard names.count < components.count || ignoresCase else { return nil }
        // The last component is never one of the plain names, because it is the name that a match keeps.
        names.removeLast(max(0, names.count - components.count + 1))
        (folder, named) = ignoresCase ? ("", names.count) : (names.joined(separator: "/"), 0)
        self.components = Array(components.dropFirst(ignoresCase ? 0 : names.count))
        self.ignoresCase = ignoresCase
        isForFolders = text.utf8.last == slash
    }

    /// The position in `folder`, where the walk begins.
    var start: Place { place([0], depth: 0) }

    /// Whether the name of an entry in a folder is part of the local path of a match.
    func isKept(at place: Place) -> Bool { place.depth >= named }

    /// - Parameter place: the position in the folder that contains the name.
    func step(over name: String, isDirectory: Bool, at place: Place) -> Step {
        var next: [Int] = []
        for index in place.next where index < components.count {
            switch components[index] {
            case .folders: next.append(index)
            case .name(let pattern):
                if pattern.matches(name, ignoresCase: ignoresCase) { next.append(index + 1) }
            }
        }
        let below = self.place(next, depth: place.depth + 1)
        let isMatch = below.next.last == components.count && (isDirectory || !isForFolders)
        return Step(isMatch: isMatch, below: isDirectory && below.next.contains { $0 < components.count } ? below : nil)
    }

    /// Adds the positions behind each `**`, which may stand for no folder.
    private func place(_ next: [Int], depth: Int) -> Place {
        var all = Set(next)
        for index in next.sorted() {
            var index = index
            while index < components.count, case .folders = components[index] {
                index += 1
                all.insert(index)
            }
        }
        return Place(next: all.sorted(), depth: depth)
    }
}
