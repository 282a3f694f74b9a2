/// Result of one step in a form. Each part gives `part`, any number of `content`, and `endOfPart`. `end` is given once,
/// at the end of the body.
package enum MultipartStep: Equatable, Sendable {
    /// The next item is not complete; no bytes were consumed.
    case needsMore
    case part(MultipartPart)
    /// Range of the part's content in the passed bytes; never empty.
    case content(Range<Int>)
    case endOfPart
    case end
}

/// A step and the bytes that it consumed.
package struct MultipartProgress: Equatable, Sendable {
    package let step: MultipartStep

    /// Bytes consumed from the beginning of the passed bytes.
    package let consumed: Int

    init(_ step: MultipartStep, consumed: Int = 0) {
        (self.step, self.consumed) = (step, consumed)
    }
}

/// Limits of what a form can make this side hold or skip.
package enum MultipartLimits {
    /// Bytes of a part's head, including line ends; twice a name of PATH_MAX (linux/limits.h).
    package static let head = 8 << 10

    /// Parts of one form. Browsers send one for each chosen file.
    package static let parts = 1000

    /// Bytes before the first boundary, which are skipped, and after the last one. Clients send none.
    package static let surroundings = 1 << 10
}
