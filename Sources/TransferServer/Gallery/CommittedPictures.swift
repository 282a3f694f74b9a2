import Synchronization
import TransferGallery
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// Pictures that a gallery looks at while no client waits: those in folders that clients look at, and those that were just stored.
///
/// Nothing happens before a client has seen a thumbnail, so a server whose pictures are never looked at has no work with them.
final class CommittedPictures: Gallery.Background {
    /// Most paths in folders that clients look at; the rest is looked at when its thumbnails are wanted.
    static let most = 20_000

    /// Events that are read together.
    private static let atOnce = 64

    /// Its number among those who watch `UploadNews`; connections have positive numbers.
    private static let watcher = -1

    private struct Paths {
        /// In folders that clients look at: only what they say about themselves is wanted.
        var seen: Set<RelativePath> = []
        /// Number of the last upload that was looked at.
        var number: UInt64
        var stored: [RelativePath] = []
        weak var gallery: Gallery?
    }

    private let news: UploadNews
    private let store: any ServerStore
    private let known: KnownUploads
    private let paths: Locked<Paths>

    init(_ news: UploadNews, _ store: any ServerStore, _ known: KnownUploads) {
        (self.news, self.store, self.known) = (news, store, known)
        paths = Locked(Paths(number: news.newest))
    }

    /// Wakes the gallery when uploads are stored.
    func wakes(_ gallery: Gallery) {
        paths.withLock { $0.gallery = gallery }
        news.watch(Self.watcher) { [weak gallery] in
            if let gallery, gallery.isUsed { gallery.wake() }
        }
    }

    /// Adds pictures whose descriptions a client wants to sort by.
    func learn(_ paths: [RelativePath]) {
        let gallery = self.paths.withLock { waiting -> Gallery? in
            // Without it, pictures are looked at only when a client wants to see them.
            guard let gallery = waiting.gallery else { return nil }
            waiting.seen.formUnion(paths.prefix(max(0, Self.most - waiting.seen.count)))
            return gallery
        }
        gallery?.wake()
    }

    func next() -> (StoredPicture, ThumbnailSide?)? {
        while let (path, side) = nextPath() {
            if let picture = open(path) { return (picture, side) }
        }
        return nil
    }

    private func nextPath() -> (RelativePath, ThumbnailSide?)? {
        paths.withLock { paths in
            if let path = paths.seen.popFirst() { return (path, nil) }
            if paths.stored.isEmpty { paths.stored = takeNews(&paths.number) }
            return paths.stored.popLast().map { ($0, .small) }
        }
    }

    /// The pictures among the uploads that were stored since the last call, the first one last.
    private func takeNews(_ number: inout UInt64) -> [RelativePath] {
        while true {
            let found = news.items(after: number, limit: Self.atOnce)
            guard !found.isLost, let last = found.items.last else {
                number = found.newest
                return []
            }
            number = last.number
            let pictures = found.items.map(\.item.path).filter {
                PictureNames.isPictureOrVideo($0.string)
            }
            if !pictures.isEmpty { return pictures.reversed() }
        }
    }

    private func open(_ path: RelativePath) -> StoredPicture? {
        guard let content = try? store.reader().open(path, as: path) else { return nil }
        let version = content.attributes.version
        guard !known.hasRotten || !known.isRotten(version) else { return nil }
        let digest = known.details(of: [(path, content.attributes)])[0]?.digest
        return try? StoredPicture(content, PictureKey(version, digest, in: path.parent))
    }
}

/// Adds to the entries of a folder what pictures say about themselves.
struct PictureDescriptions {
    private let gallery: Gallery
    private let committed: CommittedPictures

    /// Whether the gallery looks at those that it does not know yet.
    private let learns: Bool

    /// - Returns: nil if the server looks at no pictures.
    init?(of core: ServerCore, learns: Bool) {
        guard let gallery = core.gallery else { return nil }
        (self.gallery, committed, self.learns) = (gallery, core.committedPictures, learns)
    }

    /// - Parameter files: path and version of each document's file.
    func describe(_ documents: inout [EntryDocument], _ files: [(path: RelativePath, version: ContentVersion)]) {
        guard learns || gallery.isUsed else { return }
        let places = documents.indices.filter { place in
            !documents[place].isDirectory && PictureNames.isPictureOrVideo(files[place].path.string)
        }
        guard !places.isEmpty else { return }
        let found = gallery.summaries(
            places.map { PictureKey(files[$0].version, documents[$0].digest, in: files[$0].path.parent) })
        var unknown: [RelativePath] = []
        for (place, summary) in zip(places, found) {
            documents[place].picture = summary?.json
            if summary == nil { unknown.append(files[place].path) }
        }
        if learns, !unknown.isEmpty { committed.learn(unknown) }
    }
}
