import TransferAccess
import TransferCatalog
package import TransferModel
package import TransferReceipts

extension IntakeSession {
    /// The receipt of an upload that is stored still, for whoever has sent it or may see it: the one that its acknowledgement
    /// came with where that can be made again, and otherwise one of now.
    ///
    /// - Parameter id: the server's.
    /// - Returns: nothing for an upload that the caller may know nothing of, that is not what it was, or that no receipt can
    ///   promise.
    package func receipt(of id: UploadID) -> SignedReceipt? {
        guard refusal == nil, let issuer = intake.issuer,
            let function = intake.known.entry(for: id)?.digest?.algorithm.function,
            let found = intake.stillStored(id, function, for: caller, hasRotten: intake.known.hasRotten),
            caller.mayKnow(found.entry)
        else { return nil }
        let acknowledgement = Acknowledgement(again: found, run: found.entry.run, kind: found.entry.kind)
        let receipt = receipts.made(for: acknowledgement, of: found.entry, by: issuer, for: caller)
        return receipt.flatMap { try? SignedReceipt(decoding: $0) }
    }
}

extension Caller {
    /// Whether it may know that somebody has sent this; its path is another question.
    fileprivate func mayKnow(_ entry: CatalogEntry) -> Bool {
        grant.options.rights.mayRead || id != nil && entry.client == id
    }
}
