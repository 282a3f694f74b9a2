import TransferModel
import TransferStore

/// The right to append to an upload, of one request. A newer request for the upload takes it, and waits until this one is not
/// just at it.
final class GrowthClaim: Sendable {
    private let claim: PartClaim
    private let assembly: Assembly
    private let growth: Growth

    init(_ claim: PartClaim, on assembly: Assembly, _ growth: Growth) {
        (self.claim, self.assembly, self.growth) = (claim, assembly, growth)
    }

    /// - Throws: `incomplete` when another has taken it over, and what `body` throws.
    func use<T>(_ body: (Growth) throws(StoreError) -> T) throws(StoreError) -> T {
        try assembly.beginWriting(claim)
        defer { assembly.endWriting(claim) }
        return try body(growth)
    }

    /// Ends the upload, and hands out what it holds.
    ///
    /// - Throws: `incomplete` when another has taken it over; `busy` when it is being completed.
    func finish() throws(StoreError) -> (staged: any StagedContent, digest: Digest) {
        try assembly.finishGrowing(claim, growth)
    }

    /// Ends it.
    func withdraw() { assembly.withdraw(claim, digests: []) }
}
