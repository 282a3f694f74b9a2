import TransferIntake
import TransferModel

/// Who may write which bytes of an upload in parts, as callers can know it: a newer connection takes from an older one what it
/// writes, and what it asks about.
extension World {
    /// What a part that is coming may write.
    final class Claim {
        let upload: Int
        let range: Range<Int>
        /// The number of its connection.
        let connection: Int
        /// Blocks that a newer connection has brought.
        let isLate: Bool
        /// Whether some bytes were written, and where they are collected.
        var isHeld = false
        weak var multipart: MultipartUpload?
        /// Whether another one may have taken it over, or has.
        var mayBeLost = false
        var isLost = false
        /// Whether one came that should take it over, and whose first bytes could not be written.
        var isInDispute = false

        init(_ upload: Int, _ range: Range<Int>, connection: Int, isLate: Bool) {
            (self.upload, self.range, self.connection, self.isLate) = (upload, range, connection, isLate)
        }
    }

    /// What is known of the parts of an upload under one server.
    struct Parts {
        /// Where they are collected.
        weak var multipart: MultipartUpload?
        /// Parts that were told to be there and of whose blocks nobody has touched any since, and who has brought each.
        var staged: [(range: Range<Int>, connection: Int)] = []
        /// The newest connection that has worked on it.
        var newest = 0
    }

    /// The bytes of the blocks that these are in.
    private func blocks(around range: Range<Int>) -> Range<Int> {
        let end = (range.upperBound + Self.block - 1) / Self.block
        return range.lowerBound / Self.block * Self.block..<end * Self.block
    }

    /// Forgets what is known of parts that this server has let go.
    private func refresh(_ index: Int) {
        let multipart = intake?.multiparts[uploads[index].id]
        guard multipart == nil || multipart !== uploads[index].parts.multipart else { return }
        uploads[index].parts.staged = []
        uploads[index].parts.multipart = multipart
    }

    /// A part has begun.
    func claim(_ range: Range<Int>, of index: Int, on session: Session) -> Claim {
        refresh(index)
        let claim = Claim(
            index, range, connection: session.number,
            isLate: uploads[index].parts.staged.contains {
                $0.range.overlaps(range) && $0.connection > session.number
            })
        for other in claims where other.upload == index && other.range.overlaps(range) { other.mayBeLost = true }
        // Of a block that was complete, no piece stays when one comes again.
        let touched = blocks(around: range)
        uploads[index].claimed += 1
        uploads[index].verified.subtract(touched.lowerBound / Self.block..<touched.upperBound / Self.block)
        if !claim.isLate { uploads[index].parts.staged.removeAll { $0.range.overlaps(touched) } }
        uploads[index].parts.newest = max(uploads[index].parts.newest, session.number)
        claims.append(claim)
        return claim
    }

    /// Some bytes of a part were taken.
    func wrote(_ claim: Claim) throws(Promises.Broken) {
        guard !disk.isDead else { return }
        guard !claim.isLost else {
            throw Promises.Broken("upload \(claim.upload): a part is written to that was taken over")
        }
        guard !claim.isLate else {
            throw Promises.Broken("upload \(claim.upload): what a newer connection has brought is overwritten")
        }
        guard !claim.isHeld else { return }
        claim.isHeld = true
        claim.multipart = intake?.multiparts[uploads[claim.upload].id]
        for other in claims where other !== claim && other.upload == claim.upload && other.isHeld {
            guard other.range.overlaps(claim.range), other.multipart === claim.multipart else { continue }
            guard other.isLost || other.isInDispute || other.connection <= claim.connection else {
                throw Promises.Broken("upload \(claim.upload): an older connection takes a part over")
            }
            other.isLost = true
        }
    }

    /// A part was refused.
    func refused(_ claim: Claim, _ code: ResultCode) throws(Promises.Broken) {
        forget(claim)
        uploads[claim.upload].hasRefusedPart = true
        if !claim.isHeld, code != .incomplete {
            for other in claims where other.upload == claim.upload && other.range.overlaps(claim.range) {
                other.isInDispute = true
            }
        }
        guard code == .incomplete, !claim.mayBeLost, !claim.isLate, !disk.isDead else { return }
        guard !claim.isHeld, uploads[claim.upload].parts.newest > claim.connection else {
            throw Promises.Broken("upload \(claim.upload): a part was taken over by nobody")
        }
    }

    /// All of a part is there, as its sender was told.
    ///
    /// - Parameter isUndisturbed: whether nobody came between: who takes an upload over leaves what is complete.
    func staged(_ claim: Claim, isUndisturbed: Bool) throws(Promises.Broken) {
        forget(claim)
        guard !disk.isDead else { return }
        guard !claim.isLost || !isUndisturbed else {
            throw Promises.Broken("upload \(claim.upload): a part that was taken over is told as staged")
        }
        refresh(claim.upload)
        guard !claim.mayBeLost, !claim.isLost else { return }
        uploads[claim.upload].parts.staged.append((claim.range, claim.connection))
        let whole = blocks(around: claim.range)
        let size = contents[uploads[claim.upload].content].count
        guard whole.clamped(to: 0..<size) == claim.range else { return }
        uploads[claim.upload].verified.formUnion(whole.lowerBound / Self.block..<whole.upperBound / Self.block)
    }

    /// No more of a part comes. What somebody else has taken over does not count then.
    func end(_ claim: Claim, _ body: () -> Void) {
        let multipart = intake?.multiparts[uploads[claim.upload].id]
        let before = multipart?.verified ?? 0
        body()
        forget(claim)
        if claim.isLost, let multipart, multipart.verified > before {
            trouble = Promises.Broken("upload \(claim.upload): blocks count of a part that was taken over")
        }
    }

    /// Forgets blocks that nobody has to find again: the part has gone while the server ran, because it was published, taken
    /// back or given up, or the disk has failed.
    func forgetVerified() {
        for index in uploads.indices where !uploads[index].verified.isEmpty {
            if disk.hasRefused || !disk.medium.hasPart(uploads[index].id) { uploads[index].verified = [] }
        }
    }

    /// What a survey has found of an upload, while no connection claimed any of its bytes.
    func found(_ known: Set<UInt64>, of index: Int) throws(Promises.Broken) {
        guard mix.store.isOnDisk, !disk.isDead, !disk.hasRefused else { return }
        let lost = uploads[index].verified.subtracting(known.map { Int($0) })
        let content = uploads[index].content
        guard lost.isEmpty || !promises.places(of: content, disk.medium, { contents[$0] }).isEmpty else {
            throw Promises.Broken("upload \(index): blocks \(lost.sorted()) were told to be there, and are not")
        }
        uploads[index].verified.formUnion(known.map { Int($0) })
    }

    private func forget(_ claim: Claim) { claims.removeAll { $0 === claim } }

    /// Somebody asks for all of an upload, or ends it.
    func touchAll(of index: Int, by session: Session) {
        refresh(index)
        for other in claims where other.upload == index { other.mayBeLost = true }
        uploads[index].parts.newest = max(uploads[index].parts.newest, session.number)
    }

    /// He has it.
    func tookAll(of index: Int) {
        for other in claims where other.upload == index && other.isHeld { other.isLost = true }
    }

    /// Whether every byte was told to be there.
    func isComplete(_ index: Int) -> Bool {
        refresh(index)
        let size = contents[uploads[index].content].count
        var end = 0
        for part in uploads[index].parts.staged.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            guard part.range.lowerBound <= end else { return false }
            end = max(end, part.range.upperBound)
        }
        return end >= size
    }
}
