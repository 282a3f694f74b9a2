/// What one step over a form found. Of a part come `part`, then any number of `content`, then `endOfPart`; `end` comes
/// once, at the end of the body.
package enum MultipartStep: Equatable, Sendable {
    /// The bytes end before the next thing is complete; nothing was consumed.
    case needsMore
    case part(MultipartPart)
    /// Where content of the part lies in the bytes that were shown; never empty.
    case content(Range<Int>)
    case endOfPart
    case end
}

/// One step over a form.
package struct MultipartProgress: Equatable, Sendable {
    package let step: MultipartStep

    /// Bytes that it took from the front of what was shown.
    package let consumed: Int

    init(_ step: MultipartStep, consumed: Int = 0) {
        (self.step, self.consumed) = (step, consumed)
    }
}

/// What a form can make this side hold or skip.
package enum MultipartLimits {
    /// Bytes of the head of a part, line ends included; twice a name of PATH_MAX (linux/limits.h).
    package static let head = 8 << 10

    /// Parts of one form. Browsers send one for each file that was chosen.
    package static let parts = 1000

    /// Bytes in front of the first boundary, which are skipped, and of those behind the last. Clients send none.
    package static let surroundings = 1 << 10
}
