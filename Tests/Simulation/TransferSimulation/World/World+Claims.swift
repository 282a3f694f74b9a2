import TransferIntake
import TransferModel
import TransferPorts

/// Which connection may write which bytes of an upload in parts, as far as clients can know: a newer connection takes
/// over from an older one the bytes that it writes or asks about.
extension World {
    /// The bytes that a part may write while a client sends it.
    final class Claim {
        let upload: Int
        let range: Range<Int>
        /// Number of the connection that sends the part.
        let connection: Int
        /// Whether a newer connection has already brought blocks in the range.
        let isLate: Bool
        /// Whether bytes of the part were written, and the upload that collects the parts.
        var isHeld = false
        weak var multipart: MultipartUpload?
        /// Whether another part may have taken over the bytes, and whether one has.
        var mayBeLost = false
        var isLost = false
        /// Whether another part should have taken over the bytes and its first bytes could not be written.
        var isInDispute = false

        init(_ upload: Int, _ range: Range<Int>, connection: Int, isLate: Bool) {
            (self.upload, self.range, self.connection, self.isLate) = (upload, range, connection, isLate)
        }
    }

    /// State of the parts of an upload under one server.
    struct Parts {
        /// The upload that collects the parts.
        weak var multipart: MultipartUpload?
        /// Parts that the server has reported as staged, with their connections, if no other part has touched their
        /// blocks since.
        var staged: [(range: Range<Int>, connection: Int)] = []
        /// The newest connection that has worked on the upload.
        var newest = 0
    }

    /// The range of all blocks that overlap a range.
    private func blocks(around range: Range<Int>) -> Range<Int> {
        let end = (range.upperBound + Self.block - 1) / Self.block
        return range.lowerBound / Self.block * Self.block..<end * Self.block
    }

    /// Forgets the state of parts that this server has released.
    private func refresh(_ index: Int) {
        let multipart = intake?.multiparts[uploads[index].id]
        guard multipart == nil || multipart !== uploads[index].parts.multipart else { return }
        uploads[index].parts.staged = []
        uploads[index].parts.multipart = multipart
    }

    /// Records that a part has begun.
    func claim(_ range: Range<Int>, of index: Int, on session: Session) -> Claim {
        refresh(index)
        let claim = Claim(
            index, range, connection: session.number,
            isLate: uploads[index].parts.staged.contains {
                $0.range.overlaps(range) && $0.connection > session.number
            })
        for other in claims where other.upload == index && other.range.overlaps(range) { other.mayBeLost = true }
        // When a part of a complete block comes again, the whole block counts as missing.
        let touched = blocks(around: range)
        uploads[index].claimed += 1
        uploads[index].verified.subtract(touched.lowerBound / Self.block..<touched.upperBound / Self.block)
        if !claim.isLate { uploads[index].parts.staged.removeAll { $0.range.overlaps(touched) } }
        uploads[index].parts.newest = max(uploads[index].parts.newest, session.number)
        claims.append(claim)
        return claim
    }

    /// Records that bytes of a part were written.
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

    /// Records that a part was refused.
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

    /// Records that the sender has received the answer that all of a part is staged.
    ///
    /// - Parameter isUndisturbed: whether no other step ran in between. A connection that takes over an upload leaves
    ///   complete blocks in place.
    func staged(_ claim: Claim, isUndisturbed: Bool) throws(Promises.Broken) {
        forget(claim)
        guard !disk.isDead else { return }
        guard !claim.isLost || !isUndisturbed else {
            throw Promises.Broken("upload \(claim.upload): a part that was taken over is told as staged")
        }
        // The server has looked for what was published, and has begun a part.
        uploads[claim.upload].wasPublished = false
        refresh(claim.upload)
        guard !claim.mayBeLost, !claim.isLost else { return }
        uploads[claim.upload].parts.staged.append((claim.range, claim.connection))
        let whole = blocks(around: claim.range)
        let size = contents[uploads[claim.upload].content].count
        guard whole.clamped(to: 0..<size) == claim.range else { return }
        uploads[claim.upload].verified.formUnion(whole.lowerBound / Self.block..<whole.upperBound / Self.block)
    }

    /// Ends a part, and checks that blocks that another connection has taken over do not count as a result.
    func end(_ claim: Claim, _ body: () -> Void) {
        let multipart = intake?.multiparts[uploads[claim.upload].id]
        let before = multipart?.verified ?? 0
        body()
        forget(claim)
        if claim.isLost, let multipart, multipart.verified > before {
            trouble = Promises.Broken("upload \(claim.upload): blocks count of a part that was taken over")
        }
    }

    /// Forgets blocks that the server need not keep: the part has gone while the server ran, because it was recorded,
    /// taken back or given up, or because the disk has failed.
    func forgetVerified() {
        for index in uploads.indices where !uploads[index].verified.isEmpty {
            let isKept = disk.medium.hasPart(uploads[index].id) || uploads[index].wasPublished
            if disk.hasRefused || !isKept { uploads[index].verified = [] }
        }
    }

    /// Notes the uploads whose parts the killed server may have published and not recorded.
    func notePublished() {
        for index in uploads.indices where uploads[index].isOnItsWay && !disk.medium.hasPart(uploads[index].id) {
            uploads[index].wasPublished = true
        }
    }

    /// Checks the result of a survey during which no connection claimed any bytes of the upload.
    ///
    /// - Parameter isGone: the result of `isGone` before the survey.
    func found(_ known: Set<UInt64>, of index: Int, isGone: Bool) throws(Promises.Broken) {
        uploads[index].wasPublished = false
        guard mix.store.isOnDisk, !disk.isDead, !disk.hasRefused else { return }
        let lost = uploads[index].verified.subtracting(known.map { Int($0) })
        guard lost.isEmpty || isGone else {
            throw Promises.Broken("upload \(index): blocks \(lost.sorted()) were told to be there, and are not")
        }
        // What is lost with a file that has gone is not expected of the upload that begins anew.
        uploads[index].verified = Set(known.map { Int($0) })
    }

    /// Whether an upload has no part, and its content is under none of the names that it can have got: a publication that
    /// was not completed, or a file that was changed since. If other uploads have the same content, it may be
    /// theirs.
    func isGone(_ index: Int) -> Bool {
        let (upload, medium) = (uploads[index], disk.medium)
        guard !medium.hasPart(upload.id), !isShared(upload.content) else { return !medium.hasPart(upload.id) }
        let path = try? RelativePath(upload.path)
        let names = [path] + (1...contents.count).map { number in try? path?.numbered(number) }
        return !names.compactMap(\.self).contains { medium.seen(at: $0.string) == contents[upload.content] }
    }

    private func forget(_ claim: Claim) { claims.removeAll { $0 === claim } }

    /// Records that a connection asks for all of an upload, or ends it.
    func touchAll(of index: Int, by session: Session) {
        refresh(index)
        for other in claims where other.upload == index { other.mayBeLost = true }
        uploads[index].parts.newest = max(uploads[index].parts.newest, session.number)
    }

    /// Records that the connection has taken over all of the upload.
    func tookAll(of index: Int) {
        for other in claims where other.upload == index && other.isHeld { other.isLost = true }
    }

    /// Whether the server has reported every byte as staged.
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
