/// The state that the death of a process leaves: the effects of all its calls are in the kernel's memory, and a power
/// cut may still lose them.
extension DiskRecording {
    /// The state that other processes see after the first `end` effects.
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

    /// The same run in a copy of the directory, up to an effect in which the process dies. If the effect is a sync, the
    /// sync has begun, and no process learns that it has failed.
    ///
    /// - Parameter inodes: the inode of each object in the copy. An object without one gets a number that no file has.
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

    /// The failed syncs of bytes, of which no process learns. Names are not lost in this way (see `addDeath`).
    private func lost(with effect: Effect, of effects: [Effect]) -> [Effect] {
        switch effect {
        case .sync(let object), .failedSync(let object?): directories.contains(object) ? [] : [.failedSync(object)]
        case .syncAll, .failedSync(nil): Self.failedSyncs(of: effects)
        default: []
        }
    }

    /// A failed sync of every file that was written to.
    static func failedSyncs(of effects: [Effect]) -> [Effect] {
        var files: Set<Object> = []
        for case .write(let file, _, _) in effects { files.insert(file) }
        return files.sorted().map { .failedSync($0) }
    }
}
