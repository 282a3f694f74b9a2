/// What the death of a process leaves: all that it did is there, in the kernel's memory, and may still be lost with that.
extension DiskRecording {
    /// What others see of it.
    package func everything(at end: Int) -> DiskState {
        var state = DiskState()
        (state.names, state.contents) = (entries, contents)
        for effect in effects[..<end] {
            switch effect {
            case .write(let file, let offset, let bytes): state.contents[file, default: []].put(bytes, at: offset)
            case .truncate(let file, let size): state.contents[file, default: []].resize(to: size)
            case .name(let object, let entry): state.names[entry] = object
            case .remove(let entry): state.names[entry] = nil
            case .sync, .syncAll, .failedSync, .acknowledge, .acknowledgeRemoval, .note: break
            }
        }
        return state
    }

    /// The same run in a copy, up to an effect with which its process dies. A sync that it was about to make has begun, and
    /// nobody hears of its failure.
    ///
    /// - Parameter inodes: of the copy. What it doesn't have can never be found again.
    package func copied(_ inodes: [Object: Object], diesAt end: Int) -> DiskRecording {
        func copy(_ object: Object) -> Object { inodes[object] ?? object | 1 << 63 }
        func copy(_ entry: Entry) -> Entry { Entry(directory: copy(entry.directory), name: entry.name) }
        var copied = DiskRecording(root: copy(root))
        copied.entries = [:]
        for (entry, object) in entries { copied.entries[copy(entry)] = copy(object) }
        for (object, content) in contents { copied.contents[copy(object)] = content }
        copied.directories = Set(directories.map { copy($0) })
        var effects = Array(effects[..<end])
        if end < self.effects.count { effects += lost(with: self.effects[end], of: effects) }
        copied.effects = effects.map { effect in
            switch effect {
            case .write(let file, let offset, let bytes): .write(copy(file), offset: offset, bytes: bytes)
            case .truncate(let file, let size): .truncate(copy(file), size: size)
            case .name(let object, let entry): .name(copy(object), copy(entry))
            case .remove(let entry): .remove(copy(entry))
            case .sync(let object): .sync(copy(object))
            case .failedSync(let object): .failedSync(object.map { copy($0) })
            case .syncAll, .acknowledge, .acknowledgeRemoval, .note: effect
            }
        }
        return copied
    }

    /// Bytes whose sync fails and nobody is told. Of names that is not assumed, see `addDeath`.
    private func lost(with effect: Effect, of effects: [Effect]) -> [Effect] {
        switch effect {
        case .sync(let object), .failedSync(let object?): directories.contains(object) ? [] : [.failedSync(object)]
        case .syncAll, .failedSync(nil): Self.failedSyncs(of: effects)
        default: []
        }
    }

    /// Of every file that was written to.
    static func failedSyncs(of effects: [Effect]) -> [Effect] {
        var files: Set<Object> = []
        for case .write(let file, _, _) in effects { files.insert(file) }
        return files.sorted().map { .failedSync($0) }
    }
}
