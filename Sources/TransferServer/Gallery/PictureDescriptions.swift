import TransferGallery
import TransferModel

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
            !documents[place].isDirectory && PictureNames.mayBePicture(files[place].path)
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
