package import TransferTestSupport

/// The states that a disk may have after a power cut, if the file system promises no more than POSIX does:
///
/// - Everything that a successful sync covers is there: all bytes of a file that were written before the sync, all
///   names in a directory that were given or removed before the sync; after a sync of the whole file system, all of
///   both.
/// - Each page of content that no sync covers may be there or not, in any order, and a page may be torn. The size may
///   have grown without the content.
/// - Each name in a directory means what it meant at the last sync that covers it, or anything that it has meant since,
///   whatever the state of other names and contents. A name switches from one file to another in one step.
/// - Later syncs do not cover what a failed sync should have covered: only what is written again can become durable.
package struct CrashModel {
    package typealias Object = DiskRecording.Object
    package typealias Entry = DiskRecording.Entry

    /// The objects that a name may stand for, the oldest first. Nil means that the name does not exist.
    package struct Name {
        package let entry: Entry
        package let meanings: [Object?]
    }

    /// The bytes that a file has for certain, and the writes that may be on the disk besides.
    package struct Content {
        package var certain: [UInt8]
        package var pending: [(offset: Int, bytes: [UInt8])]
    }

    package let recording: DiskRecording

    package init(recording: DiskRecording) { self.recording = recording }

    /// Whether the object was synced between the effect and `end`, and the first of these syncs was successful.
    private func isDurable(_ object: Object, from index: Int, to end: Int) -> Bool {
        for effect in recording.effects[index..<end] {
            switch effect {
            case .sync(object), .syncAll: return true
            case .failedSync(object), .failedSync(nil): return false
            default: break
            }
        }
        return false
    }

    /// Every name that was ever given, except names in `hidden` directories.
    ///
    /// - Parameter end: the number of effects that have taken place.
    package func names(at end: Int, hidden: Set<Object>) -> [Name] {
        var meanings: [Entry: [Object?]] = [:]
        for (entry, object) in recording.entries { meanings[entry] = [object] }
        for (index, effect) in recording.effects[..<end].enumerated() {
            let (entry, object): (Entry, Object?)
            switch effect {
            case .name(let named, let at): (entry, object) = (at, named)
            case .remove(let from): (entry, object) = (from, nil)
            default: continue
            }
            if isDurable(entry.directory, from: index, to: end) { meanings[entry] = [] }
            meanings[entry, default: [nil]].append(object)
        }
        return meanings.filter { !hidden.contains($0.key.directory) }.map { Name(entry: $0.key, meanings: $0.value) }
            .sorted { $0.entry < $1.entry }
    }

    package func content(of file: Object, at end: Int) -> Content {
        var content = Content(certain: recording.contents[file] ?? [], pending: [])
        for (index, effect) in recording.effects[..<end].enumerated() {
            switch (effect, isDurable(file, from: index, to: end)) {
            case (.write(file, let offset, let bytes), true):
                content.certain.put(bytes, at: offset)
                content.replacePending(offset..<offset + bytes.count)
            case (.write(file, let offset, let bytes), false): content.pending.append((offset, bytes))
            case (.truncate(file, let size), true): content.certain.resize(to: size)
            // A pending truncation counts as a write without bytes. It extends a shorter file with zeros, and changes
            // nothing in a longer one.
            case (.truncate(file, let size), false): content.pending.append((size, []))
            default: break
            }
        }
        return content
    }
}

extension CrashModel.Content {
    /// Forgets pending bytes that were written again and synced.
    fileprivate mutating func replacePending(_ range: Range<Int>) {
        pending = pending.flatMap { write -> [(offset: Int, bytes: [UInt8])] in
            let old = write.offset..<write.offset + write.bytes.count
            guard old.overlaps(range) else { return [write] }
            let (below, above) = (max(0, range.lowerBound - old.lowerBound), max(0, old.upperBound - range.upperBound))
            return [
                (write.offset, Array(write.bytes.prefix(below))), (range.upperBound, Array(write.bytes.suffix(above))),
            ].filter { !$0.bytes.isEmpty }
        }
    }

    private static let pageSize = 4096

    /// Possible contents: first the one without pending writes, second the one with all of them.
    package func variants(_ random: inout SplitMix64) -> [[UInt8]] {
        guard !pending.isEmpty else { return [certain] }
        var all = certain
        for write in pending { all.put(write.bytes, at: write.offset) }
        let unfinished = certain + [UInt8](repeating: 0, count: all.count - certain.count)
        let torn = Int.random(in: 0...all.count, using: &random)
        return [
            certain, all, unfinished, Array(all[..<torn]), Array(all[..<torn] + unfinished[torn...]),
            pages(all, unfinished, &random),
        ]
    }

    /// Takes each page from one of the two contents at random.
    private func pages(_ all: [UInt8], _ unfinished: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        stride(from: 0, to: all.count, by: Self.pageSize).reduce(into: []) { content, start in
            let page = start..<min(start + Self.pageSize, all.count)
            content += Bool.random(using: &random) ? all[page] : unfinished[page]
        }
    }
}
