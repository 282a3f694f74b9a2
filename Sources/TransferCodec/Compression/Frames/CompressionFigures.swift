/// What a method was seen to do with some content.
package struct CompressionFigures: Equatable, Sendable {
    package let method: CompressionMethod
    /// Bytes of content per second that it takes in.
    package let rate: Double
    /// Of compressed to plain size.
    package let ratio: Double

    package init(method: CompressionMethod, rate: Double, ratio: Double) {
        (self.method, self.rate, self.ratio) = (method, rate, ratio)
    }

    /// The same for so many compressors at work at once.
    package func times(_ compressors: Int) -> CompressionFigures {
        CompressionFigures(method: method, rate: rate * Double(compressors), ratio: ratio)
    }

    /// A codec that is only just as fast as the link has no core left for anything else: it counts for that much less.
    private static let headroom = 1.5

    /// Bytes of content per second that would leave over a link of that many bytes per second.
    func content(over link: Double) -> Double {
        min(rate / Self.headroom, link / max(ratio, 1e-6))
    }
}

extension [CompressionFigures] {
    /// A slower method has to win by that much.
    private static var advantage: Double { 1.02 }

    /// The one with which content leaves fastest; of those that come to the same, the first.
    ///
    /// - Parameter link: bytes per second.
    func best(over link: Double) -> CompressionFigures? {
        var best: CompressionFigures?
        for one in self where one.content(over: link) > (best?.content(over: link) ?? 0) * Self.advantage { best = one }
        return best
    }
}
