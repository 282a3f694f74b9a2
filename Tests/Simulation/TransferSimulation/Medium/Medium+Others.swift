/// Changes that other programs make in the server's directory.
extension Medium {
    /// Another program writes a file and, if `synced` is true, syncs it.
    mutating func replace(_ path: String, in directory: String, by content: [UInt8], synced: Bool = true) {
        let object = newObject()
        files[object] = File(seen: content, isForeign: true)
        files[object]?.pending = [.write(offset: 0, bytes: content)]
        adopt(object, directory + "/" + path)
        touch(object, content: true)
        if synced {
            sync(object: object)
            settle(path, object)
        } else if let (directory, name) = place(path) {
            _ = bind(directory, name, object)
        }
    }

    /// Another program removes a file or a directory, and syncs the removal.
    mutating func forget(_ path: String) { settle(path, nil) }

    /// Another program makes a directory without a sync.
    mutating func makeDirectory(_ path: String, in root: String) {
        guard let (parent, name) = place(path) else { return }
        let object = newObject()
        directories[object] = Directory(path: path, modified: stamp())
        adopt(object, root + "/" + path)
        _ = bind(parent, name, object)
    }

    /// The disk has lost the content of a file, although no program has changed the file.
    ///
    /// - Parameter content: the wrong bytes, as many as the file has.
    mutating func rot(_ path: String, to content: [UInt8]) {
        guard let object = object(at: path) else { return }
        files[object]?.seen = content
        files[object]?.certain = content
        files[object]?.isForeign = true
        files[object]?.isRotten = true
    }

    private func place(_ path: String) -> (directory: Object, name: String)? {
        let parts = path.split(separator: "/")
        guard let name = parts.last.map(String.init),
            let directory = object(at: parts.dropLast().joined(separator: "/")), directories[directory] != nil
        else { return nil }
        return (directory, name)
    }

    private mutating func settle(_ path: String, _ object: Object?) {
        guard let (directory, name) = place(path) else { return }
        sync(object: directory)
        for changed in [directories[directory]?.seen[name], object].compactMap(\.self) {
            touch(changed, content: false)
        }
        touch(directory, content: true)
        directories[directory]?.seen[name] = object
        directories[directory]?.certain[name] = object
        settle(object, onDiskOf: directory)
    }
}
