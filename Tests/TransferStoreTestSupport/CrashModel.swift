package import TransferTestSupport

/// What may be on a disk after a power cut, with no more promised than POSIX does:
///
/// - What a successful sync of an object covers is there: all bytes of a file that were written before it, all names in a
///   directory that were given or taken before it; for a sync of everything, all of everything.
/// - Of anything else each page of content may be there or not, in any order, and a page may be torn. The size may have
///   grown without the content.
/// - Each name of a directory is by itself what it was at the last sync that covers it, or anything it became since,
///   whatever other names and contents are. A name switches from one file to another in one step.
/// - What a failed sync should have covered is lost for all later ones: only what is written again can become durable.
package struct CrashModel {
    package typealias Object = DiskRecording.Object
    package typealias Entry = DiskRecording.Entry

    /// The meanings that a name may have; the first is the oldest, nothing stands for none.
    package struct Name {
        package let entry: Entry
        package let meanings: [Object?]
    }

    /// What is certain of a file, and what may have been written besides.
    package struct Content {
        package var certain: [UInt8]
        package var pending: [(offset: Int, bytes: [UInt8])]
    }

    package let recording: DiskRecording

    package init(recording: DiskRecording) { self.recording = recording }

    /// Whether the first sync after the effect that covers the object was successful, before `end`.
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

    /// Every name that was ever given, but for those in directories that are `hidden`.
    ///
    /// - Parameter end: effects that have taken place.
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
            case (.truncate(file, let size), true):
                content.certain.resize(to: size)
                content.pending.removeAll { $0.bytes.isEmpty }
            // Where it adds nothing, this changes nothing.
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

    /// Contents that may be found, the one with least of it first and the one with most second.
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

    /// Each page from one or the other.
    private func pages(_ all: [UInt8], _ unfinished: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        stride(from: 0, to: all.count, by: Self.pageSize).reduce(into: []) { content, start in
            let page = start..<min(start + Self.pageSize, all.count)
            content += Bool.random(using: &random) ? all[page] : unfinished[page]
        }
    }
}
