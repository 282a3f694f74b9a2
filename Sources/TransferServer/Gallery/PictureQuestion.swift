import TransferGallery
import TransferIntake
import TransferModel
import TransferPorts

/// A stored file that a client asks about, as the gallery knows it.
struct PictureQuestion {
    let content: any ReadableContent
    /// The digest that was acknowledged for this content; nil if none is known.
    let digest: Digest?
    let key: PictureKey

    /// - Throws: also `contentLost`, for a file whose content is known to differ from what was acknowledged.
    init(at place: RelativePath, _ files: ConnectionFiles) throws(Failure) {
        content = try files.openSound(place)
        digest = files.digest(of: content.attributes, at: place)
        key = PictureKey(content.attributes.version, digest, in: place.parent)
    }

    /// Orders a thumbnail.
    ///
    /// - Parameter client: whose turn the decoder's work costs.
    /// - Throws: `busy` if too many pictures wait.
    func order(_ side: ThumbnailSide, _ gallery: Gallery, for client: AccountHolder?) throws(Failure) -> ThumbnailTicket
    {
        // Text: clients with the same hash would share their turns, and nothing else.
        try gallery.order(try StoredPicture(content, key), side, for: client.hashValue)
    }

    /// What was found out before about the picture and its pixels; nil if it still has to be decoded.
    func verdict(_ gallery: Gallery) -> PictureReport? {
        if let failed = gallery.find(key, .small), failed.refusal != nil { return failed }
        guard let known = gallery.find(key, nil), known.summary?.isDecoded != nil else { return nil }
        return known
    }
}
