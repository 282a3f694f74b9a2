import Glibc

/// Symbolic links: names that contain a path and have no content. A power cut leaves a link whole or not at all.
extension Medium {
    mutating func makeLink(_ directory: Int32, _ name: String) -> SimulatedDisk.Naming? {
        var text = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlinkat(directory, name, &text, text.count)
        guard count >= 0, let parent = object(of: directory) else { return nil }
        let object = newObject()
        links[object] = Array(text[..<count])
        adopt(object, name, in: directory)
        return bind(parent, name, object)
    }

    func isLink(_ object: Object) -> Bool { links[object] != nil }

    /// Paths of all files and links that every program sees outside the server's own folder.
    var seenNames: [String] { (Array(seenPaths.keys) + linkPaths).sorted() }

    private var linkPaths: [String] {
        guard !links.isEmpty else { return [] }
        return directories.flatMap { object, directory -> [String] in
            guard let parent = directory.path, !Self.isInTrash(parent), self.object(at: parent) == object else {
                return []
            }
            return directory.seen.filter { isLink($0.value) }.map { parent.isEmpty ? $0.key : parent + "/" + $0.key }
        }
    }

    /// Creates a link that a power cut has left.
    mutating func take(link text: [UInt8], _ object: Object, at path: String) -> Object {
        (text + [0]).withUnsafeBytes { bytes in
            _ = bytes.bindMemory(to: CChar.self).baseAddress.map { symlink($0, path) }
        }
        links[object] = text
        adopt(object, path)
        return object
    }
}
