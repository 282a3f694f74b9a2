/// Measurements of a method with some content.
package struct CompressionFigures: Equatable, Sendable {
    package let method: CompressionMethod
    /// Bytes of content compressed per second.
    package let rate: Double
    /// Compressed size divided by plain size.
    package let ratio: Double

    package init(method: CompressionMethod, rate: Double, ratio: Double) {
        (self.method, self.rate, self.ratio) = (method, rate, ratio)
    }

    /// The figures of this many compressors that work at the same time.
    package func times(_ compressors: Int) -> CompressionFigures {
        CompressionFigures(method: method, rate: rate * Double(compressors), ratio: ratio)
    }

    /// Factor by which a codec's rate is reduced: a codec that is only as fast as the link would leave no processor
    /// time for other work.
    private static let headroom = 1.5

    /// Bytes of content per second over a link that carries `link` bytes per second.
    func content(over link: Double) -> Double {
        min(rate / Self.headroom, link / max(ratio, 1e-6))
    }
}

extension [CompressionFigures] {
    /// Factor by which a slower method must be better than a faster one.
    private static var advantage: Double { 1.02 }

    /// The method that sends content fastest; if several are equally fast, the first.
    ///
    /// - Parameter link: bandwidth in bytes per second.
    func best(over link: Double) -> CompressionFigures? {
        var best: CompressionFigures?
        for one in self where one.content(over: link) > (best?.content(over: link) ?? 0) * Self.advantage { best = one }
        return best
    }
}
